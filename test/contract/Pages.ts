import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ReferenceGone, type Unavailable } from "../../src/Schemas/Errors.ts"
import type { ProjectId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { batchBytes, type Place, placeOf } from "../../src/Schemas/Page.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { MemoryRepo } from "../../src/Services/MemoryRepo.ts"
import type { Pages } from "../../src/Services/Pages.ts"
import type { Backend, It } from "../support/Backends.ts"
import { at, makeAgent, makeProject, makeWorkspace, newId } from "../support/Fixtures.ts"
import { makeConnector } from "./ConnectorRepo.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { remember } from "./MemoryRepo.ts"

interface Row {
  readonly id: string
  readonly createdAt: Date
}

interface Kind {
  readonly what: string
  readonly repo: Effect.Effect<
    Pages<Row> & { readonly remove: (id: never) => Effect.Effect<boolean, Unavailable> },
    never,
    Backend
  >
  readonly make: (
    workspaceId: WorkspaceId,
    millis: number,
    projectId: ProjectId | null
  ) => Effect.Effect<Row, unknown, Backend>
}

const kinds: ReadonlyArray<Kind> = [
  {
    what: "agents",
    repo: AgentRepo,
    make: (workspaceId, millis, projectId) => makeAgent(workspaceId, { createdAt: at(millis), projectId })
  },
  {
    what: "cron jobs",
    repo: CronJobRepo,
    make: (workspaceId, millis, projectId) =>
      makeCronJob(workspaceId, { createdAt: at(millis), projectId, nextFireAt: null })
  },
  {
    what: "connectors",
    repo: ConnectorRepo,
    make: (workspaceId, millis, projectId) => makeConnector(workspaceId, { createdAt: at(millis), projectId })
  },
  {
    what: "memory",
    repo: MemoryRepo,
    make: (workspaceId, millis, projectId) =>
      Effect.flatMap(newId<string>("memoryEntry"), (key) =>
        remember(workspaceId, { key, at: at(millis), projectId })
      )
  }
]

const idsOf = (rows: ReadonlyArray<Row>) => rows.map(({ id }) => id)

/** Behind what a caller names. */
const named = (id: string): Place => ({ id, createdAt: null })

const subject = Effect.fnUntraced(function* ({ make, repo }: Kind) {
  const pages = yield* repo
  const workspaceId = yield* makeWorkspace
  const project = yield* makeProject(workspaceId)
  // Two moments that several share, and one before them that was written last.
  const rows: Array<Row> = []
  for (const millis of [1, 1, 1, 2, 2, 0]) rows.push(yield* make(workspaceId, millis, null))
  rows.unshift(...rows.splice(5))
  const page = (after: Place | null, limit: number, until: Place | null = null) =>
    pages.page({ workspaceId }, { after, until, limit })
  return { pages, page, workspaceId, project, rows }
})

export const suite = (it: It) =>
  describe("Pages", () => {
    it.effect.each([...kinds])("of $what are all of them, each once", (kind) =>
      Effect.gen(function* () {
        const { page, rows } = yield* subject(kind)
        const seen: Array<string> = []
        for (let after: Place | null = null; ; ) {
          const batch: Effect.Success<ReturnType<typeof page>> = yield* page(after, 2)
          seen.push(...idsOf(batch.rows))
          if (batch.next === null) break
          assert.lengthOf(batch.rows, 2)
          assert.strictEqual(batch.next.id, seen.at(-1))
          after = named(batch.next.id)
        }
        assert.deepStrictEqual(seen, idsOf(rows))
        const behindLast = yield* page(named(seen.at(-1) ?? ""), 2)
        assert.deepStrictEqual(behindLast, { rows: [], next: null })
      })
    )

    it.effect.each([...kinds])(
      "of $what begin behind any that the workspace has, and end where it is said",
      (kind) =>
        Effect.gen(function* () {
          const { page, pages, project, rows, workspaceId } = yield* subject(kind)
          const [one, two, three, four] = rows
          const until = placeOf(three ?? assert.fail())
          const between = yield* page(named(one?.id ?? ""), 9, until)
          assert.deepStrictEqual([idsOf(between.rows), between.next], [[two?.id, three?.id], null])
          const first = yield* page(named(one?.id ?? ""), 1, until)
          assert.deepStrictEqual([idsOf(first.rows), first.next], [[two?.id], placeOf(two ?? assert.fail())])
          const own = yield* kind.make(workspaceId, 9, project.id)
          const narrowed = yield* pages.page(
            { workspaceId, projectId: project.id },
            { after: named(four?.id ?? ""), until: null, limit: 9 }
          )
          assert.deepStrictEqual(idsOf(narrowed.rows), [own.id])
        })
    )

    it.effect.each([...kinds])("of $what don't tell what is gone from what is another workspace's", (kind) =>
      Effect.gen(function* () {
        const { page } = yield* subject(kind)
        const { rows } = yield* subject(kind)
        for (const id of [rows[0]?.id ?? assert.fail(), "none_such"]) {
          const refused = yield* Effect.flip(page(named(id), 9))
          assert.deepStrictEqual(refused, new ReferenceGone({ field: "after" }))
        }
      })
    )

    it.effect.each([...kinds])("of $what go on behind one that was deleted meanwhile", (kind) =>
      Effect.gen(function* () {
        const { page, rows } = yield* subject(kind)
        const { next } = yield* page(null, 3)
        assert.isTrue(yield* (yield* kind.repo).remove((next?.id ?? assert.fail()) as never))
        assert.deepStrictEqual(idsOf((yield* page(next, 9)).rows), idsOf(rows.slice(3)))
      })
    )

    it.effect.each([...kinds])("of $what: says how much there is, and where it ends", (kind) =>
      Effect.gen(function* () {
        const { pages, rows, workspaceId } = yield* subject(kind)
        const extent = (after: Place | null, limit: number | undefined) =>
          pages.extent({ workspaceId }, { after, limit })
        const end = placeOf(rows.at(-1) ?? assert.fail())
        const whole = { isOver: false, after: null, until: end, next: null }
        assert.deepStrictEqual(yield* extent(null, undefined), whole)
        assert.deepStrictEqual(yield* extent(named(rows[3]?.id ?? ""), 2), whole)
        const fourth = placeOf(rows[3] ?? assert.fail())
        assert.deepStrictEqual(yield* extent(named(rows[0]?.id ?? ""), 3), {
          ...whole,
          until: fourth,
          next: fourth.id
        })
        assert.deepStrictEqual(yield* extent(end, 9), { ...whole, until: null })
      })
    )

    it.effect("of large rows are cut by their bytes, behind the row that goes over the limit", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const value = "x".repeat(batchBytes / 4)
        for (let n = 0; n < 9; n++) yield* remember(workspaceId, { key: `${n}`, value, at: at(n) })
        const page = (after: Place | null, limit = 200) =>
          Effect.map(memory.page({ workspaceId }, { after, until: null, limit }), ({ next, rows }) => ({
            next,
            keys: rows.map(({ key }) => key).join("")
          }))
        const first = yield* page(null)
        // What is beside the value counts as well.
        assert.strictEqual(first.keys, "0123")
        const second = yield* page(first.next)
        assert.strictEqual(second.keys, "4567")
        assert.deepInclude(yield* page(second.next), { keys: "8", next: null })
        assert.deepInclude(yield* page(null, 3), { keys: "012" })
      })
    )

    it.effect.each([
      { what: "long", value: "𝒳".repeat(100_000), count: 84 },
      { what: "long as JSON alone", value: "\u0001".repeat(100_000), count: 56 }
    ])("are too large for an answer where their texts are $what", ({ count, value }) =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        for (let n = 0; n < count; n++) yield* remember(workspaceId, { key: `${n}`, value, at: at(n) })
        const isOver = (limit: number | undefined) =>
          Effect.map(memory.extent({ workspaceId }, { after: null, limit }), (extent) => extent.isOver)
        assert.isTrue(yield* isOver(undefined))
        assert.isTrue(yield* isOver(count))
        assert.isFalse(yield* isOver(count - 2))
      })
    )
  })
