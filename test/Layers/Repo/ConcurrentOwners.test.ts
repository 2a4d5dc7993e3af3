import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ConversationId, MessageId, RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { RunKind, StoredRun } from "../../../src/Schemas/Run.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { completed, executionOf, minute, times } from "../../contract/RunSubject.ts"
import { makeConversation, makeUser, makeWorkspaceOf } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { counts, makeNodes, newRun, watched } from "./RunNodes.ts"

const shares = { perWorkspace: 4, perOwner: 6 }

const makeOwner = Effect.gen(function* () {
  const { id } = yield* makeUser
  const workspaces = yield* Effect.replicateEffect(makeWorkspaceOf(id), 4)
  return { id, workspaces }
})

const newOne = Effect.fnUntraced(function* (workspaceId: WorkspaceId, kind: RunKind) {
  const run = newRun(workspaceId)
  if (kind === "task") return run
  const { id: conversationId }: { id: ConversationId } = yield* makeConversation(workspaceId)
  const turn = { conversationId, replyId: `msg_${run.id}` as MessageId }
  return { ...run, id: `turn_${run.id}` as RunId, turn }
})

/** A deadlock is Unavailable to its victim: it fails these tests as an error. */
const suite = () =>
  it.live.each<RunKind>(["task", "turn"])(
    "executes every %s of 2 owners once with 12 callers on 4 nodes, never more of one than allowed",
    (kind) =>
      Effect.gen(function* () {
        const { on, together } = yield* makeNodes(4)
        const owners = yield* on(0, Effect.replicateEffect(makeOwner, 2))
        const workspaces = owners.flatMap((owner) => owner.workspaces)
        let inserted = 0
        const callers = 12
        const each = 8
        const executed: Array<string> = []
        const finish = Effect.fnUntraced(function* (worker: string, run: StoredRun) {
          const isOurs = yield* (yield* RunRepo).finish(executionOf(worker, run), completed, times)
          assert.isTrue(isOurs, "the end was refused")
          executed.push(run.id)
        })
        const calling = together(callers, (n) =>
          Effect.gen(function* () {
            const repo = yield* RunRepo
            const worker = `worker ${n}`
            const start = { worker, kind, leaseMillis: minute, ...shares }
            for (let round = 0; round < each; round++) {
              const run = yield* newOne(
                workspaces[(n + round * 3) % workspaces.length] ?? assert.fail(),
                kind
              )
              const isStarted = yield* repo.insert(run, round % 3 === 0 ? undefined : start)
              inserted++
              const claimed = yield* repo.claim({ ...start, limit: 3 })
              // Ends of one come between starts of others.
              if (isStarted) yield* finish(worker, { ...run, epoch: 1 })
              yield* Effect.forEach(claimed, (taken) => finish(worker, taken), { concurrency: "unbounded" })
            }
            while (inserted < callers * each || (yield* counts).open > 0) {
              for (const taken of yield* repo.claim({ ...start, limit: 3 })) yield* finish(worker, taken)
            }
          })
        )
        const { last, most, mostOfOwner, wrong } = yield* on(0, watched(calling))
        assert.isAtMost(mostOfOwner, shares.perOwner)
        assert.isAtMost(most, shares.perWorkspace)
        assert.deepStrictEqual([wrong, last.open], [0, 0])
        assert.deepStrictEqual([executed.length, new Set(executed).size], [callers * each, callers * each])
      })
  )

const filling = () =>
  it.live.each<RunKind>(["task", "turn"])("fills an owner exactly, with 20 claimers on 4 nodes: %s", (kind) =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(4)
      for (let round = 0; round < 5; round++) {
        const { workspaces } = yield* on(0, makeOwner)
        const repo = yield* on(0, RunRepo)
        for (const each of [...workspaces, ...workspaces, ...workspaces]) {
          yield* repo.insert(yield* on(0, newOne(each, kind)))
        }
        const taken = yield* together(20, (n) =>
          Effect.gen(function* () {
            const claimant = { worker: `filler ${n}`, kind, leaseMillis: minute, ...shares }
            const runs = yield* RunRepo
            const claimed: Array<StoredRun> = []
            for (let times = 0; times < 5; times++) {
              claimed.push(...(yield* runs.claim({ ...claimant, limit: 4 })))
            }
            return claimed
          })
        )
        const more = yield* repo.claim({ worker: "last", kind, leaseMillis: minute, limit: 99, ...shares })
        assert.strictEqual(taken.flat().length + more.length, shares.perOwner)
        assert.isAtMost((yield* on(1, counts)).mostOfOwner, shares.perOwner)
      }
    })
  )

if (Postgres.hasPostgres) {
  describe("Limits of owners on PostgreSQL", suite)
  describe("Limits of owners on PostgreSQL", filling)
} else describe.skip(Postgres.skipped("Limits of owners on PostgreSQL"), suite)
