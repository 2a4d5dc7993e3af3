import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layerNode } from "../../support/Backends.ts"
import * as EmbeddedCopy from "../../support/EmbeddedCopy.ts"

describe("what belongs to a workspace", () => {
  it.live("has an index that begins with it", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const tables = yield* sql`
        select conrelid::regclass::text as "table" from pg_constraint
        where contype = 'f' and confrelid = 'workspaces'::regclass`
      assert.isAbove(tables.length, 5)
      const without = yield* sql`
        select conrelid::regclass::text as "table" from pg_constraint k
        where contype = 'f' and confrelid = 'workspaces'::regclass and not exists (
          select from pg_index i where i.indrelid = k.conrelid and i.indkey[0] = k.conkey[1])`
      assert.deepStrictEqual(without, [])
    }).pipe(Effect.provide(layerNode(EmbeddedCopy.layerClient)))
  )
})
