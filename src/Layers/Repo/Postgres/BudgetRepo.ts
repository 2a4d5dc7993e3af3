import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Budget, nanosOf, type Permission, usdOf } from "../../../Schemas/Budget.ts"
import { BudgetRepo } from "../../../Services/BudgetRepo.ts"
import { type Limit, reachedOf } from "./Budgets.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, firstRow, onlyRow, returnedRow } from "./Rows.ts"

const amount = Schema.NullOr(Schema.Finite)
/** A bigint, which no sum here is too large for. */
const number = (column: string) => ({ read: `${column}::float8` })

const Stored = Schema.Struct({
  monthlyNanos: amount,
  monthlyTokens: amount,
  runNanos: amount,
  runTokens: amount
})
const stored = firstRow(Stored)
const storedColumns = makeColumns(Stored, {
  monthlyNanos: number("b.monthly_nanos"),
  monthlyTokens: number("b.monthly_tokens"),
  runNanos: number("b.run_nanos"),
  runTokens: number("b.run_tokens")
}).read()
const Standings = Schema.Struct({
  month: Schema.String,
  usedTokens: Schema.Finite,
  usedNanos: Schema.Finite,
  lostTokens: Schema.Finite,
  lostNanos: Schema.Finite,
  reservedTokens: Schema.Finite,
  reservedNanos: Schema.Finite
})
const standings = onlyRow(Standings)
const standingColumns = makeColumns(Standings, {
  month: { read: "to_char(month, 'YYYY-MM')" },
  usedTokens: number("used_tokens"),
  usedNanos: number("used_nanos"),
  lostTokens: number("lost_tokens"),
  lostNanos: number("lost_nanos"),
  reservedTokens: number("reserved_tokens"),
  reservedNanos: number("reserved_nanos")
}).read()
const reached = firstRow(Schema.Struct({ reached: Schema.String, amount: Schema.Finite }))
const decided = onlyRow(
  Schema.Struct({
    outcome: Schema.Literals(["none", "reserved", "waits", "unpriced", "lost", "refused"]),
    reached: Schema.NullOr(Schema.String),
    amount: Schema.NullOr(Schema.Finite)
  })
)

const nullable = (of: (value: number) => number) => (value: number | null) =>
  value === null ? null : of(value)
const toNanos = nullable(nanosOf)
const toUsd = nullable(usdOf)

const settle =
  ({ query, sql }: Database["Service"]): BudgetRepo["Service"]["settle"] =>
  ({ epoch, id }, how) => {
    const isIts = sql`run_id = ${id} and epoch = ${epoch}`
    return query(
      Effect.asVoid(
        how === "released"
          ? sql`delete from budget_reservations where ${isIts}`
          : sql`
                with gone as (delete from budget_reservations where ${isIts} returning *)
                select lose_budget(gone::budget_reservations) from gone`
      )
    )
  }

export const layer = Layer.effect(
  BudgetRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, lookUp, query, sql } = database
    return BudgetRepo.of({
      find: (workspaceId) =>
        lookUp(
          stored(sql`
            select ${storedColumns}
            from workspaces w left join workspace_budgets b on b.workspace_id = w.id where w.id = ${workspaceId}`)
        ).pipe(
          Effect.map(
            Option.map(
              ({ monthlyNanos, monthlyTokens, runNanos, runTokens }): Budget => ({
                monthlyUsd: toUsd(monthlyNanos),
                monthlyTokens,
                runUsd: toUsd(runNanos),
                runTokens
              })
            )
          )
        ),
      put: (workspaceId, { monthlyTokens, monthlyUsd, runTokens, runUsd }) =>
        change((audit) =>
          returnedRow(
            audit.with(sql`
              insert into workspace_budgets (workspace_id, monthly_nanos, monthly_tokens, run_nanos, run_tokens)
              select id, ${toNanos(monthlyUsd)}::bigint, ${monthlyTokens}::bigint, ${toNanos(runUsd)}::bigint,
                ${runTokens}::bigint
              from workspaces where id = ${workspaceId}
              on conflict (workspace_id) do update set monthly_nanos = excluded.monthly_nanos,
                monthly_tokens = excluded.monthly_tokens, run_nanos = excluded.run_nanos,
                run_tokens = excluded.run_tokens
              returning workspace_id as id`)
          )
        ),
      standing: (workspaceId) =>
        query(
          standings(sql`
            select ${standingColumns}
            from budget_standing(${workspaceId})`)
        ).pipe(
          Effect.map((found) => ({
            month: found.month,
            standing: {
              used: { tokens: found.usedTokens, costNanos: found.usedNanos },
              lost: { tokens: found.lostTokens, costNanos: found.lostNanos },
              reserved: { tokens: found.reservedTokens, costNanos: found.reservedNanos }
            }
          }))
        ),
      reached: (workspaceId) =>
        query(
          reached(sql`select reached, amount::float8 as amount from budget_reached(${workspaceId})`)
        ).pipe(Effect.map(Option.map(reachedOf))),
      reserve: ({ bound, execution: { epoch, id, worker }, run, workspaceId }) =>
        query(
          decided(sql`
            select outcome, reached, amount::float8 as amount from reserve_budget(
              ${id}, ${epoch}::int, ${worker}, ${workspaceId}, ${bound.tokens}::bigint, ${bound.costNanos}::bigint,
              ${run.tokens}::bigint, ${run.costNanos}::bigint)`)
        ).pipe(
          Effect.map(
            ({ outcome, ...limit }): Permission =>
              outcome === "refused"
                ? { type: outcome, reached: reachedOf(limit as Limit) }
                : { type: outcome }
          )
        ),
      settle: settle(database),
      bury: (limit) => query(count(sql`select bury_budgets(${limit}::int) as count`))
    })
  })
)
