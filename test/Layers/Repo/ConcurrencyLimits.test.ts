import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Application from "../../../src/Layers/Application.ts"
import * as Ring from "../../../src/Layers/SecretBox/Ring.ts"
import { PlanLimitExceeded } from "../../../src/Schemas/Connector.ts"
import type { UpdateCronJob } from "../../../src/Schemas/CronJob.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { Connectors } from "../../../src/Services/Connectors.ts"
import { CronJobs } from "../../../src/Services/CronJobs.ts"
import { Memory } from "../../../src/Services/Memory.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { Workspaces } from "../../../src/Services/Workspaces.ts"
import { makeConnector } from "../../contract/ConnectorRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { at, makeProject, makeUser } from "../../support/Fixtures.ts"
import { listedFor } from "../../support/Listed.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeTenant } from "../../support/Service.ts"

const layerSecretBox = Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })

/** The use cases of one node: a client, and all above it, of its own. */
const layerUseCases = (url: string) =>
  Layer.fresh(
    Application.layer.pipe(
      Layer.provideMerge(layerSecretBox),
      Layer.provideMerge(layerNode(Postgres.client(url)))
    )
  )

/** Three nodes on one database, and a workspace with an owner. */
const makeCluster = Effect.gen(function* () {
  const url = yield* Postgres.migratedDatabase
  const [a, b, c] = [
    yield* Layer.build(layerUseCases(url)),
    yield* Layer.build(layerUseCases(url)),
    yield* Layer.build(layerUseCases(url))
  ]
  const nodes = [a, b, c]
  const { user, workspaceId } = yield* Effect.provideContext(makeTenant(), a)
  type Services = typeof a extends Context.Context<infer S> ? S : never
  const on = <A, E, R>(node: number, effect: Effect.Effect<A, E, R>) =>
    Effect.provideContext(effect, nodes[node % nodes.length] ?? a) as Effect.Effect<
      A,
      E,
      Exclude<R, Services>
    >
  /** Runs them all at once, one after the other on the three nodes. */
  const together = <A, E, R>(count: number, make: (index: number) => Effect.Effect<A, E, R>) =>
    Effect.forEach(
      Array.from({ length: count }, (_, index) => index),
      (index) => Effect.result(on(index, make(index))),
      { concurrency: "unbounded" }
    )
  /** What becomes of `late`, which comes while `first` has locked the workspace and waits for it. */
  const behind = Effect.fnUntraced(function* <A, E, E2>(
    first: Effect.Effect<unknown, E, Services>,
    late: Effect.Effect<A, E2, Services>
  ) {
    const [locked, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const holding = Effect.gen(function* () {
      yield* (yield* WorkspaceRepo).lock(workspaceId)
      yield* Deferred.succeed(locked, undefined)
      yield* Deferred.await(go)
      yield* first
    })
    const holder = yield* Effect.forkChild(
      on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(holding))
      )
    )
    yield* Deferred.await(locked)
    const waiter = yield* Effect.forkChild(on(1, late))
    yield* on(2, Postgres.untilWaiting(1))
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.join(holder)
    return yield* Fiber.await(waiter)
  })
  return { behind, on, together, user, workspaceId }
})

const countActive = (workspaceId: Parameters<ConnectorRepo["Service"]["countActive"]>[0]) =>
  Effect.flatMap(ConnectorRepo, (repo) => repo.countActive(workspaceId))

/** Those that succeeded, and the errors of the others. */
const sorted = <A, E>(results: ReadonlyArray<Result.Result<A, E>>) => ({
  made: results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : [])),
  refused: results.flatMap((result) => (Result.isFailure(result) ? [result.failure] : []))
})

const suite = () => {
  it.live.each([1, 2, 3])("lets exactly 5 of 50 connectors into a free workspace over 3 nodes (%d)", () =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      const { made, refused } = sorted(
        yield* together(50, () =>
          Effect.flatMap(Connectors, (use) => use.create(user, { workspaceId, type: "custom" }))
        )
      )
      for (const error of refused) assert.instanceOf(error, PlanLimitExceeded)
      assert.deepStrictEqual([made.length, refused.length], [5, 45])
      assert.strictEqual(yield* on(0, countActive(workspaceId)), 5)
      const stored = yield* on(
        1,
        Effect.flatMap(Connectors, (use) => listedFor(use, user, { workspaceId }))
      )
      assert.strictEqual(stored.length, 5, "a refused connector was stored")
    })
  )

  it.live("never has more than 5 ACTIVE, however many are switched on at once", () =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      const off = yield* on(0, Effect.replicateEffect(makeConnector(workspaceId, { status: "INACTIVE" }), 30))
      const { made, refused } = sorted(
        yield* together(off.length, (index) =>
          Effect.gen(function* () {
            const { id } = off[index] ?? (yield* Effect.die("no connector"))
            return yield* (yield* Connectors).update(user, id, { status: "ACTIVE" })
          })
        )
      )
      for (const error of refused) assert.instanceOf(error, PlanLimitExceeded)
      assert.deepStrictEqual([made.length, refused.length], [5, 25])
      assert.strictEqual(yield* on(0, countActive(workspaceId)), 5)
    })
  )

  it.live("never has more than 5 ACTIVE, while some are created and others switched off and on", () =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      const active = yield* on(0, Effect.replicateEffect(makeConnector(workspaceId), 5))
      const counted: Array<number> = []
      yield* together(120, (index) =>
        Effect.gen(function* () {
          const connectors = yield* Connectors
          const { id } = active[index % active.length] ?? (yield* Effect.die("no connector"))
          const status = index % 2 === 0 ? "INACTIVE" : "ACTIVE"
          if (index % 3 === 0) yield* Effect.ignore(connectors.create(user, { workspaceId, type: "custom" }))
          else yield* Effect.ignore(connectors.update(user, id, { status }))
          counted.push(yield* countActive(workspaceId))
        })
      )
      assert.isAtMost(Math.max(...counted), 5)
    })
  )

  it.live("counts a connector that was switched off while a patch that keeps it on waited", () =>
    Effect.gen(function* () {
      const { behind, on, user, workspaceId } = yield* makeCluster
      const active = yield* on(0, Effect.replicateEffect(makeConnector(workspaceId), 5))
      const first = active[0] ?? (yield* Effect.die("no connector"))
      const exit = yield* behind(
        Effect.gen(function* () {
          yield* (yield* ConnectorRepo).update({ ...first, status: "INACTIVE" })
          yield* makeConnector(workspaceId)
        }),
        Effect.flatMap(Connectors, (use) => use.update(user, first.id, { status: "ACTIVE" }))
      )
      assert.strictEqual(yield* on(0, countActive(workspaceId)), 5)
      assert.strictEqual(exit._tag, "Failure")
    })
  )

  it.live("lets a connector be switched on twice at once when there is room for it", () =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      yield* on(0, Effect.replicateEffect(makeConnector(workspaceId), 4))
      for (let round = 0; round < 10; round++) {
        const { id } = yield* on(0, makeConnector(workspaceId, { status: "INACTIVE" }))
        const { refused } = sorted(
          yield* together(6, () =>
            Effect.flatMap(Connectors, (use) => use.update(user, id, { status: "ACTIVE" }))
          )
        )
        assert.deepStrictEqual(refused, [])
        yield* on(
          0,
          Effect.flatMap(Connectors, (use) => use.remove(user, id))
        )
      }
    })
  )

  it.live.each(["without a project", "in a project"])("leaves one row of 50 writers on 3 nodes %s", (kind) =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      const projectId = kind === "in a project" ? (yield* on(0, makeProject(workspaceId))).id : null
      const { made, refused } = sorted(
        yield* together(50, (index) =>
          Effect.flatMap(Memory, (memory) =>
            memory.upsert(user, { workspaceId, projectId, key: "key", value: `value ${index}` })
          )
        )
      )
      assert.deepStrictEqual(refused, [])
      const left = yield* on(
        0,
        Effect.flatMap(Memory, (memory) => listedFor(memory, user, { workspaceId }))
      )
      assert.strictEqual(left.length, 1)
      assert.deepStrictEqual(
        new Set(made.map(({ createdAt, id }) => `${id} ${createdAt.getTime()}`)),
        new Set(left.map(({ createdAt, id }) => `${id} ${createdAt.getTime()}`))
      )
    })
  )

  it.live("leaves one owner when two remove or demote each other, or themselves, at once", () =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      const other = yield* on(0, makeUser)
      for (let round = 0; round < 24; round++) {
        yield* on(
          0,
          Effect.gen(function* () {
            const workspaces = yield* WorkspaceRepo
            yield* workspaces.addMember(workspaceId, user.id, "owner", at())
            yield* workspaces.addMember(workspaceId, other.id, "owner", at())
          })
        )
        const results = yield* together(2, (index) =>
          Effect.gen(function* () {
            const workspaces = yield* Workspaces
            const [me, you] = index === 0 ? [user, other] : [other, user]
            const target = round % 3 === 0 ? me : you
            if (round % 2 === 0) yield* workspaces.removeMember(me, workspaceId, target.id)
            else yield* workspaces.addMember(me, workspaceId, { email: target.email, role: "member" })
          })
        )
        const { made, refused } = sorted(results)
        assert.strictEqual(made.length, 1, "exactly one of the two goes through")
        for (const error of refused) assert.include(["Forbidden", "NotFound"], error._tag)
        const members = yield* on(
          0,
          Effect.flatMap(WorkspaceRepo, (repo) => repo.members(workspaceId))
        )
        assert.strictEqual(members.filter(({ role }) => role === "owner").length, 1)
      }
    })
  )

  it.live("lets nobody act as an owner who ceased to be one while waiting", () =>
    Effect.gen(function* () {
      const { behind, on, user, workspaceId } = yield* makeCluster
      const [former, third] = [yield* on(0, makeUser), yield* on(0, makeUser)]
      const workspaces = yield* on(0, WorkspaceRepo)
      for (const { id } of [former, third]) yield* workspaces.addMember(workspaceId, id, "owner", at())
      const exit = yield* behind(
        workspaces.removeMember(workspaceId, former.id),
        Effect.flatMap(Workspaces, (use) => use.removeMember(former, workspaceId, user.id))
      )
      assert.deepStrictEqual(yield* workspaces.role(workspaceId, user.id), Option.some("owner"))
      assert.strictEqual(exit._tag, "Failure")
    })
  )

  it.live("loses none of several patches of one cron job at the same time", () =>
    Effect.gen(function* () {
      const { on, together, user, workspaceId } = yield* makeCluster
      const job = yield* on(
        0,
        Effect.flatMap(CronJobs, (use) =>
          use.create(user, { workspaceId, name: "Job", schedule: "0 9 * * *", prompt: "p" })
        )
      )
      const patches: ReadonlyArray<UpdateCronJob> = [
        { name: "New" },
        { description: "New" },
        { prompt: "New" },
        { schedule: "30 4 * * *" },
        { timezone: "Asia/Tokyo" }
      ]
      const { refused } = sorted(
        yield* together(patches.length * 6, (index) =>
          Effect.flatMap(CronJobs, (use) => use.update(user, job.id, patches[index % patches.length] ?? {}))
        )
      )
      assert.deepStrictEqual(refused, [])
      const sql = yield* on(0, PgClient)
      const [stored] = yield* sql<{ readonly next: string }>`
        select name, description, prompt, schedule, timezone,
          to_char(next_fire_at at time zone 'UTC', 'HH24:MI') as next from cron_jobs`
      // 04:30 in Tokyo: schedule and time zone were changed apart, and belong together.
      assert.deepStrictEqual(stored as unknown, { ...Object.assign({}, ...patches), next: "19:30" })
    })
  )
}

if (Postgres.hasPostgres) describe("Limits on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Limits on PostgreSQL"), suite)
