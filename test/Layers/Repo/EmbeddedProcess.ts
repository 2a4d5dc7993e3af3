import { writeSync } from "node:fs"
import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Embedded from "../../../src/Layers/Repo/Postgres/Embedded.ts"

const tell = (line: string) => Effect.sync(() => writeSync(1, `${line}\n`))

/** Inserts row after row, and names each one once its commit has been acknowledged. */
const insertForEver = Effect.gen(function* () {
  const sql = yield* PgClient
  yield* sql`create table if not exists rows (id int generated always as identity primary key, filler text)`
  yield* tell("open")
  while (true) {
    const [row] = yield* sql.withTransaction(
      sql<{ id: number }>`insert into rows (filler) values (repeat('x', 500)) returning id`
    )
    yield* tell(`row ${row?.id}`)
  }
})

const dataDir = process.argv[2] ?? ""

await Effect.runPromise(
  insertForEver.pipe(
    Effect.provide(Embedded.layer({ dataDir, onFirstStart: tell("first start") })),
    Effect.catchTag("EmbeddedDatabaseError", (error) => tell(error.message))
  )
)
