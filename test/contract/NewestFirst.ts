import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ReferenceGone } from "../../src/Schemas/Errors.ts"
import type { MessageId } from "../../src/Schemas/Ids.ts"
import { batchBytes, type Place, placeOf } from "../../src/Schemas/Page.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeConversation, makeRun, makeWorkspace, newMessage } from "../support/Fixtures.ts"

const idsOf = (rows: ReadonlyArray<{ readonly id: string }>) => rows.map(({ id }) => id)

const written = Effect.fnUntraced(function* (contents: ReadonlyArray<string>) {
  const conversations = yield* ConversationRepo
  const { id } = yield* makeConversation(yield* makeWorkspace)
  const ids: Array<MessageId> = []
  for (const content of contents) {
    const message = yield* newMessage({ content })
    yield* conversations.addMessage(id, message)
    ids.push(message.id)
  }
  return { conversations, id, ids }
})

const runsOf = Effect.fnUntraced(function* (count: number) {
  const runs = yield* RunRepo
  const workspaceId = yield* makeWorkspace
  const made: Array<{ readonly id: string; readonly createdAt: Date }> = []
  // Pairs of one moment.
  for (let n = 0; n < count; n++)
    made.unshift(yield* makeRun(workspaceId, { status: "COMPLETED", createdAt: at(Math.floor(n / 2)) }))
  return { runs, workspaceId, made }
})

/** Lists that are read from their newest end. */
export const suite = (it: It) =>
  describe("What is newest first", () => {
    it.effect("gives the newest messages, and those before one, in their order", () =>
      Effect.gen(function* () {
        const { conversations, id, ids } = yield* written(["0", "1", "2", "3", "4"])
        const newest = (before: MessageId | null, limit: number) =>
          Effect.map(conversations.newest(id, { before, limit }), ({ next, rows }) => ({
            told: rows.map(({ content }) => content).join(""),
            hasMore: next !== null
          }))
        assert.deepStrictEqual(yield* newest(null, 9), { told: "01234", hasMore: false })
        assert.deepStrictEqual(yield* newest(null, 5), { told: "01234", hasMore: false })
        assert.deepStrictEqual(yield* newest(null, 2), { told: "34", hasMore: true })
        assert.deepStrictEqual(yield* newest(ids[3] ?? null, 2), { told: "12", hasMore: true })
        assert.deepStrictEqual(yield* newest(ids[1] ?? null, 2), { told: "0", hasMore: false })
        assert.deepStrictEqual(yield* newest(ids[0] ?? null, 2), { told: "", hasMore: false })
      })
    )

    it.effect("refuses a message of another conversation as one that there is not", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* written(["0"])
        const other = yield* written(["0"])
        for (const before of [other.ids[0] ?? assert.fail(), "none_such" as MessageId]) {
          assert.deepStrictEqual(
            yield* Effect.flip(conversations.newest(id, { before, limit: 9 })),
            new ReferenceGone({ field: "before" })
          )
        }
      })
    )

    it.effect("reads the messages of a long conversation a few at a time, up to where it ended", () =>
      Effect.gen(function* () {
        const content = "x".repeat(batchBytes / 2)
        const { conversations, id, ids } = yield* written(Array.from({ length: 5 }, () => content))
        const newest = yield* conversations.newest(id, { before: null, limit: 9 })
        assert.deepStrictEqual(idsOf(newest.rows), ids.slice(3))
        assert.isNotNull(newest.next)
        const walk = Effect.fnUntraced(function* (before: MessageId | null, limit: number | undefined) {
          const { isOver, until, ...extent } = yield* conversations.extent(id, { before, limit })
          assert.isFalse(isOver)
          const seen: Array<string> = []
          for (let after = extent.after; ; ) {
            const batch: Effect.Success<ReturnType<typeof conversations.messages>> =
              yield* conversations.messages(id, { after, until, limit: 9 })
            assert.isAtMost(batch.rows.length, 2)
            seen.push(...idsOf(batch.rows))
            if (batch.next === null) return seen
            after = batch.next
          }
        })
        assert.deepStrictEqual(yield* walk(null, undefined), ids)
        assert.deepStrictEqual(yield* walk(null, 3), ids.slice(2))
        assert.deepStrictEqual(yield* walk(ids[4] ?? null, 3), ids.slice(1, 4))
        const { after, until } = yield* conversations.extent(id, { before: null, limit: 1 })
        yield* conversations.addMessage(id, yield* newMessage())
        const told = yield* conversations.messages(id, { after, until, limit: 9 })
        assert.deepStrictEqual(idsOf(told.rows), ids.slice(4))
      })
    )

    it.effect("says of a conversation when it is too large for an answer", () =>
      Effect.gen(function* () {
        const content = "\u0001".repeat(700_000)
        const { conversations, id } = yield* written(Array.from({ length: 8 }, () => content))
        const isOver = (limit: number | undefined) =>
          Effect.map(conversations.extent(id, { before: null, limit }), (extent) => extent.isOver)
        assert.isTrue(yield* isOver(undefined))
        assert.isFalse(yield* isOver(7))
      })
    )

    it.effect("lists the runs behind one, whatever is created meanwhile", () =>
      Effect.gen(function* () {
        const { made, runs, workspaceId } = yield* runsOf(6)
        const list = (after: Place | null, limit = 2) => runs.list({ workspaceId, after, limit, offset: 0 })
        const first = yield* list(null)
        assert.deepStrictEqual(idsOf(first.runs), idsOf(made.slice(0, 2)))
        yield* makeRun(workspaceId, { status: "COMPLETED", createdAt: at(9) })
        const second = yield* list({ id: made[1]?.id ?? "", createdAt: null })
        assert.deepStrictEqual(idsOf(second.runs), idsOf(made.slice(2, 4)))
        assert.strictEqual(second.total, 7)
        const last = yield* list(second.next, 9)
        assert.deepStrictEqual([idsOf(last.runs), last.next], [idsOf(made.slice(4)), null])
        const elsewhere = yield* runsOf(1)
        for (const id of [elsewhere.made[0]?.id ?? assert.fail(), "none_such"]) {
          assert.deepStrictEqual(
            yield* Effect.flip(list({ id, createdAt: null })),
            new ReferenceGone({ field: "after" })
          )
        }
      })
    )

    it.effect("reads runs with long outputs a few at a time, and says when they are too many", () =>
      Effect.gen(function* () {
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        const ids: Array<string> = []
        for (let n = 0; n < 9; n++) {
          const output = "\u0001".repeat(700_000)
          const run = yield* makeRun(workspaceId, { status: "COMPLETED", output, createdAt: at(n) })
          ids.unshift(run.id)
        }
        const asked = { workspaceId, limit: 7, offset: 1 }
        const first = yield* runs.list(asked)
        assert.deepStrictEqual(idsOf(first.runs), ids.slice(1, 2))
        const extent = yield* runs.extent(asked)
        assert.deepInclude(extent, { isOver: false, next: ids[7] ?? "" })
        assert.strictEqual(extent.until?.id, ids[7])
        const seen = idsOf(first.runs)
        for (let after = first.next; after !== null; ) {
          const batch: Effect.Success<ReturnType<typeof runs.slice>> = yield* runs.slice(
            { workspaceId },
            { after, until: extent.until, limit: 200 }
          )
          seen.push(...idsOf(batch.rows))
          after = batch.next
        }
        assert.deepStrictEqual(seen, ids.slice(1, 8))
        assert.isTrue((yield* runs.extent({ workspaceId, limit: 8, offset: 0 })).isOver)
        assert.deepStrictEqual(
          (yield* runs.extent({ workspaceId, limit: 1, offset: 0 })).until,
          placeOf({ id: ids[0] ?? "", createdAt: at(8) })
        )
      })
    )
  })
