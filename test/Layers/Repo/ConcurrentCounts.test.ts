import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { completed, executionOf, minute, times } from "../../contract/RunSubject.ts"
import { at, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { counts, makeNodes, newRun, watched } from "./RunNodes.ts"

const none = { most: 0, mostOfOwner: 0, running: 0, open: 0, wrong: 0 }
const remove = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const sql = yield* PgClient
  yield* sql`delete from workspaces where id = ${workspaceId}`
})

/** A deadlock is Unavailable to its victim: it fails these tests as an error. */
const suite = () => {
  it.live(
    "keeps the counts of a workspace through every change of a run, and the removal of its workspace",
    () =>
      Effect.gen(function* () {
        const { on } = yield* makeNodes(1)
        yield* on(
          0,
          Effect.gen(function* () {
            const repo = yield* RunRepo
            const workspaceId = yield* makeWorkspace
            const expect = Effect.fnUntraced(function* (running: number, open: number, what: string) {
              assert.deepStrictEqual(
                yield* counts,
                { most: running, mostOfOwner: 0, running, open, wrong: 0 },
                what
              )
            })
            const claim = (leaseMillis: number) =>
              repo.claim({ worker: "w", limit: 2, leaseMillis, perWorkspace: 8 })
            const take = { worker: "v", limit: 9, leaseMillis: 0 }
            yield* expect(0, 0, "a new workspace")
            for (let n = 0; n < 6; n++) yield* repo.insert(newRun(workspaceId))
            yield* repo.insert({ ...newRun(workspaceId), status: "WAITING_APPROVAL" })
            yield* expect(0, 6, "insert")
            const [one, two] = yield* claim(0)
            if (one === undefined || two === undefined) return assert.fail()
            yield* expect(2, 6, "claim")
            yield* repo.cancel(one.id, at())
            yield* expect(1, 5, "cancel of a RUNNING run")
            yield* repo.cancel(one.id, at())
            yield* repo.finish(executionOf("w", one), completed, times)
            yield* repo.renew("w", [two], 0)
            yield* expect(1, 5, "what is refused or changes no status")
            const [taken] = yield* repo.takeOver({ ...take, maxCrashes: 3 })
            yield* expect(1, 5, "takeover")
            yield* repo.finish(executionOf("v", taken ?? assert.fail()), completed, times)
            yield* repo.finish(executionOf("v", taken ?? assert.fail()), completed, times)
            yield* expect(0, 4, "finish")
            yield* claim(0)
            yield* repo.release("w", { crashed: false, maxCrashes: 1 })
            yield* expect(0, 4, "release")
            yield* claim(0)
            yield* repo.release("w", { crashed: true, maxCrashes: 1 })
            yield* expect(0, 2, "release after one crash too many")
            yield* claim(0)
            yield* repo.takeOver({ ...take, maxCrashes: 1 })
            yield* expect(0, 0, "takeover after one crash too many")
            const direct = newRun(workspaceId)
            yield* repo.insert(direct, { worker: "w", leaseMillis: minute, perWorkspace: 1 })
            yield* repo.insert(newRun(workspaceId), { worker: "w", leaseMillis: minute, perWorkspace: 1 })
            yield* expect(1, 2, "direct start")
            const sql = yield* PgClient
            yield* sql`delete from runs where id = ${direct.id}`
            yield* expect(0, 1, "removal of a run")
            yield* remove(workspaceId)
            const [left] = yield* sql`select (select count(*)::int from run_slots) as counts,
            (select count(*)::int from runs) as runs`
            assert.deepStrictEqual(left, { counts: 0, runs: 0 })
          })
        )
      })
  )

  it.live("keeps the counts while 4 nodes insert, claim, end, cancel, release and remove a workspace", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(4)
      const workspaces = yield* on(0, Effect.replicateEffect(makeWorkspace, 5))
      const [removed, ...kept] = workspaces
      if (removed === undefined) return assert.fail()
      const mixed = together(16, (n) =>
        Effect.gen(function* () {
          const repo = yield* RunRepo
          const worker = `worker ${n}`
          const start = { worker, leaseMillis: 0, perWorkspace: 8 }
          for (let round = 0; round < 10; round++) {
            for (const workspaceId of kept)
              yield* repo.insert(newRun(workspaceId), n % 2 === 0 ? start : undefined)
            const claimed = yield* repo.claim({ ...start, limit: 5 })
            for (const [index, run] of claimed.entries()) {
              if (index % 3 === 0) yield* repo.cancel(run.id, at())
              if (index % 3 === 1) yield* repo.finish(executionOf(worker, run), completed, times)
            }
            if (n % 4 === 1) yield* repo.takeOver({ worker, leaseMillis: 0, limit: 4, maxCrashes: 2 })
            if (n % 4 === 2 && round % 3 === 2) yield* repo.release(worker, { crashed: false, maxCrashes: 3 })
          }
        })
      )
      const removing = on(
        1,
        Effect.gen(function* () {
          const repo = yield* RunRepo
          for (let n = 0; n < 20; n++) yield* repo.insert(newRun(removed))
          yield* remove(removed)
        })
      )
      const { last, most, wrong } = yield* on(
        0,
        watched(Effect.all([mixed, removing], { concurrency: "unbounded" }))
      )
      assert.isAtMost(most, 8)
      assert.strictEqual(wrong, 0)
      assert.isAtMost(last.running, 32)
    })
  )

  it.live.each<[string, { readonly crashed: boolean; readonly maxCrashes: number }]>([
    ["hand back", { crashed: false, maxCrashes: 3 }],
    ["hand back after a crash", { crashed: true, maxCrashes: 3 }],
    ["fail", { crashed: true, maxCrashes: 1 }]
  ])("lets two nodes %s their runs of the same 10 workspaces at once, without a deadlock", ([, how]) =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(2)
      const workspaces = yield* on(0, Effect.replicateEffect(makeWorkspace, 10))
      for (let round = 0; round < 15; round++) {
        // Each holds one of every workspace, and has come by them in opposite order.
        yield* together(2, (n) =>
          Effect.gen(function* () {
            const repo = yield* RunRepo
            const start = { worker: `node ${n}`, leaseMillis: minute, perWorkspace: 1_000 }
            const order = n === 0 ? workspaces : workspaces.toReversed()
            for (const workspaceId of order) yield* repo.insert(newRun(workspaceId), start)
          })
        )
        yield* together(2, (n) => Effect.flatMap(RunRepo, (repo) => repo.release(`node ${n}`, how)))
        const sql = yield* on(0, PgClient)
        yield* sql`
          update runs set status = 'CANCELLED' where status = 'PENDING' or status = 'RUNNING' and worker is null`
      }
      assert.deepStrictEqual(yield* on(0, counts), none)
    })
  )

  it.live("lets two nodes fail the runs of lost workers in the same 30 workspaces at once", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(2)
      const workspaces = yield* on(0, Effect.replicateEffect(makeWorkspace, 30))
      for (let round = 0; round < 15; round++) {
        yield* on(
          0,
          Effect.gen(function* () {
            const repo = yield* RunRepo
            const start = { worker: "dead", leaseMillis: 0, perWorkspace: 1_000 }
            for (const workspaceId of [...workspaces, ...workspaces.toReversed()]) {
              yield* repo.insert(newRun(workspaceId), start)
            }
          })
        )
        while ((yield* on(0, counts)).running > 0) {
          yield* together(2, (n) =>
            Effect.flatMap(RunRepo, (repo) =>
              repo.takeOver({ worker: `heir ${n}`, leaseMillis: minute, limit: 30, maxCrashes: 1 })
            )
          )
        }
      }
      assert.deepStrictEqual(yield* on(0, counts), none)
    })
  )

  it.live("lets a workspace be removed while runs are inserted and started in it", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(3)
      for (let round = 0; round < 15; round++) {
        const workspaceId = yield* on(0, makeWorkspace)
        const start = { worker: "w", leaseMillis: minute, perWorkspace: 1_000 }
        const insert = Effect.flatMap(RunRepo, (repo) => repo.insert(newRun(workspaceId), start))
        yield* on(0, Effect.replicateEffect(insert, 5))
        // A workspace that is gone takes no runs: that is a defect of who inserts them.
        const inserting = Effect.replicateEffect(insert, 5).pipe(Effect.catchDefect(() => Effect.void))
        yield* Effect.all([on(0, remove(workspaceId)), on(1, inserting), on(2, inserting)], {
          concurrency: "unbounded"
        })
      }
      assert.deepStrictEqual(yield* on(0, counts), none)
    })
  )
}

if (Postgres.hasPostgres) describe("Counts of workspaces on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Counts of workspaces on PostgreSQL"), suite)
