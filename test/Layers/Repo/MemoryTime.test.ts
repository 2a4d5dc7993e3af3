import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"

/** With the client beneath it, to hold a table. */
const node = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url), { memorySearchMillis: 200 }))
)

const suite = () => {
  it.live("a search that takes too long is told from a database that is away, and ends alone", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryRepo
      const sql = yield* PgClient
      const workspaceId = yield* makeWorkspace
      const search = memory.search({ workspaceId, projectId: null, query: "x", limit: 1 })
      const [held, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holding = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`lock table memory_entries`
            yield* Deferred.succeed(held, undefined)
            yield* Deferred.await(done)
          })
        )
      )
      yield* Deferred.await(held)
      assert.deepInclude(yield* Effect.flip(search), { _tag: "MemoryTooSlow" })
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(holding)
      // The limit was of that search: a session keeps none of it.
      const limits = yield* Effect.replicateEffect(sql`show statement_timeout`, 3, { concurrency: 3 })
      assert.deepStrictEqual(new Set(limits.flat().map((row) => row.statement_timeout)), new Set(["0"]))
    }).pipe(Effect.provide(node))
  )
}

if (Postgres.hasPostgres) describe("Searching the memory", suite)
else describe.skip(Postgres.skipped("Searching the memory"), suite)
