import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { DatabaseError } from "./DatabaseError.ts"

/**
 * How sessions are made behind a pooler that gives each transaction another one (PgBouncer with `pool_mode =
 * transaction`): with nothing that stays in a session. Before 1.21 it knows no named statement of the one before.
 */
export const options = { prepare: false } as const

/** That the server bounds the sessions behind the pooler too, which passes none of `limits` on. */
export const requireBounds = (limits: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const names = ["statement_timeout", "idle_in_transaction_session_timeout"]
    const unbounded = yield* sql<{ name: string }>`
      select name from pg_settings where ${sql.in("name", names)} and setting = '0' order by name`
    if (unbounded.length === 0) return
    const given = Object.entries(limits).map(([name, value]) => `set ${name} = ${value}`)
    return yield* new DatabaseError({
      error:
        `the sessions behind the pooler of DATABASE_URL have no ${unbounded.map(({ name }) => name).join(" and no ")}: ` +
        `let it begin them with connect_query='${given.join("; ")}', or set these for the role (alter role … set …)`
    })
  })

/** That no pooler answers at the address that is said to be none's; whatever else is wrong is found by who asks later. */
export const requireNone = Effect.gen(function* () {
  const sql = yield* SqlClient
  const refused = yield* Effect.flip(sql`select 1`).pipe(Effect.option)
  if (Option.isNone(refused) || !/startup parameter/u.test(causeOf(refused.value))) return
  return yield* new DatabaseError({
    error:
      "DATABASE_URL leads to a pooler, as PgBouncer is one: set DATABASE_DIRECT_URL to the address of the database itself " +
      "(docs/operations.md, behind PgBouncer)"
  })
})

const causeOf = ({ reason }: SqlError): string =>
  reason.cause instanceof Error ? reason.cause.message : reason.message
