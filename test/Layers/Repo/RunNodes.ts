import { PgClient } from "@effect/sql-pg/PgClient"
import { assert } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { type NewRun, unstarted } from "../../../src/Schemas/Run.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { type Backend, layerNode } from "../../support/Backends.ts"
import { at } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"

/** Several nodes on one database, a new one if none is given; each has a client, and all above it, of its own. */
export const makeNodes = Effect.fnUntraced(function* (count: number, given?: string) {
  const url = given ?? (yield* Postgres.migratedDatabase)
  const first = yield* Layer.build(layerNode(Postgres.client(url)))
  const nodes = [first]
  for (let n = 1; n < count; n++) nodes.push(yield* Layer.build(layerNode(Postgres.client(url))))
  type Services = typeof first extends Context.Context<infer S> ? S : never
  /** On one of the nodes, by its number. */
  const on = <A, E, R>(node: number, effect: Effect.Effect<A, E, R>) =>
    Effect.provideContext(effect, nodes[node % count] ?? first) as Effect.Effect<A, E, Exclude<R, Services>>
  /** All at once, one after the other on the nodes. */
  const together = <A, E, R>(times: number, make: (index: number) => Effect.Effect<A, E, R>) =>
    Effect.forEach(
      Array.from({ length: times }, (_, index) => index),
      (index) => on(index, make(index)),
      { concurrency: "unbounded" }
    )
  return { on, together }
})

/** What becomes of `late`, which another node does while `first` is done and not yet committed. */
export const whileDone = Effect.fnUntraced(function* <A, B>(
  nodes: Effect.Success<ReturnType<typeof makeNodes>>,
  first: Effect.Effect<A, Unavailable, Backend>,
  late: Effect.Effect<B, Unavailable, Backend>
) {
  const { on } = nodes
  const doing = Effect.gen(function* () {
    const done = yield* first
    const fiber = yield* Effect.forkDetach(on(1, late))
    yield* Effect.orDie(on(1, Postgres.untilWaiting(1)))
    return { done, fiber }
  })
  const { done, fiber } = yield* on(
    0,
    Effect.flatMap(Transaction, (transaction) => transaction.atomically(doing))
  )
  return { first: done, late: yield* Fiber.join(fiber) }
})

let made = 0

/** A PENDING run that is not stored yet. */
export const newRun = (workspaceId: WorkspaceId): NewRun => ({
  id: `run_${workspaceId}_${String(made++).padStart(6, "0")}` as RunId,
  workspaceId,
  projectId: null,
  status: "PENDING",
  turn: null,
  prompt: "Do it",
  ...unstarted,
  createdAt: at(made),
  updatedAt: at(made),
  agentId: null,
  cronJobId: null,
  autonomyLevel: "semi-autonomous",
  selectedProvider: null,
  selectedModel: null,
  providerKeyId: null,
  connectorIds: null,
  policy: null,
  input: null
})

/**
 * What the server holds at one moment: `wrong` counts the workspaces whose counts differ from their runs, by kind;
 * `mostOfOwner` run at once in the workspaces of one maker.
 */
interface Counts {
  readonly most: number
  readonly mostOfOwner: number
  readonly running: number
  readonly open: number
  readonly wrong: number
}

export const counts = Effect.gen(function* () {
  const sql = yield* PgClient
  const [row] = yield* sql<Counts>`
    with real as (
      select w.id, w.created_by, k.kind, count(r.id) filter (where r.status = 'PENDING')::int as queued,
        count(r.id) filter (where r.status = 'RUNNING')::int as running
      from workspaces w cross join (values ('task'), ('turn')) k (kind)
      left join runs r on r.workspace_id = w.id and r.kind = k.kind group by w.id, k.kind)
    select coalesce(max(real.running), 0)::int as most, coalesce(sum(real.running), 0)::int as running,
      coalesce(sum(real.running + real.queued), 0)::int as open,
      (select coalesce(max(each.running), 0)::int from (
        select sum(running) as running from real where created_by is not null group by created_by, kind) each)
        as "mostOfOwner",
      (select count(*)::int from real full join run_slots s on s.workspace_id = real.id and s.kind = real.kind
        where (s.queued, s.running) is distinct from (real.queued, real.running)) as wrong
    from real`
  return row ?? assert.fail()
})

/** Does the work, and looks at the counts all the time until it is done, and once more then. */
export const watched = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(work)
  const seen = []
  while (fiber.pollUnsafe() === undefined) seen.push(yield* counts)
  const result = yield* Fiber.join(fiber)
  const last = yield* counts
  seen.push(last)
  return {
    last,
    most: Math.max(...seen.map(({ most }) => most)),
    mostOfOwner: Math.max(...seen.map(({ mostOfOwner }) => mostOfOwner)),
    result,
    wrong: Math.max(...seen.map(({ wrong }) => wrong))
  }
})
