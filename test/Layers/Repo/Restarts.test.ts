import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { minute } from "../../contract/RunSubject.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeRun, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"

const day = 24 * 60 * minute

/** A run that was begun, and whose lease was renewed for the last time, so long after the server had started. */
const lostAfter = Effect.fnUntraced(function* (given: { readonly begun: number; readonly renewed: number }) {
  const sql = yield* PgClient
  const runs = yield* RunRepo
  const { id } = yield* makeRun(yield* makeWorkspace)
  yield* runs.claim({ worker: "gone", leaseMillis: minute, limit: 1, perWorkspace: 8 })
  const after = (millis: number) =>
    sql`pg_postmaster_start_time() + ${millis}::int * interval '1 millisecond'`
  // A lease of minus a day has ended, also one that was renewed a moment to come.
  yield* sql`
    update runs set started_at = ${after(given.begun)}, updated_at = ${after(given.begun)},
      lease_until = ${after(given.renewed - day)} where id = ${id}`
  yield* runs.takeOver({ worker: "heir", limit: 1, maxCrashes: 1, leaseMillis: -day })
  return Option.getOrThrow(yield* runs.find(id)).status
})

const suite = () => {
  it.live("counts nothing if the server started after the last sign of life of a worker", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* lostAfter({ begun: -2 * minute, renewed: -1_000 }), "RUNNING")
      assert.strictEqual(yield* lostAfter({ begun: -2 * minute, renewed: 1_000 }), "FAILED")
      assert.strictEqual(yield* lostAfter({ begun: 1_000, renewed: -1_000 }), "FAILED")
    }).pipe(Effect.provide(layerNode(Postgres.layerClient)))
  )
}

if (Postgres.hasPostgres) describe("Restart of PostgreSQL", suite)
else describe.skip(Postgres.skipped("Restart of PostgreSQL"), suite)
