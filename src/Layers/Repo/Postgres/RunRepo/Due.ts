import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { count, firstRow } from "../Rows.ts"

const wait = firstRow(Schema.Struct({ millis: Schema.Finite }))

/** When runs are due that were not to begin before a time. */
export const make = ({
  query,
  sql
}: Database["Service"]): Pick<RunRepo["Service"], "untilDue" | "makeDue"> => ({
  untilDue: query(
    Effect.map(
      wait(sql`
        select extract(epoch from not_before - clock_timestamp())::float8 * 1000 as millis
        from runs where status = 'PENDING' and not_before is not null order by not_before limit 1`),
      Option.map(({ millis }) => millis)
    )
  ),
  // A subquery is asked once, so that the index finds what is due.
  makeDue: (limit) =>
    query(
      count(sql`
        with due as materialized (
          select id from runs
          where status = 'PENDING' and not_before <= (select clock_timestamp())
          order by not_before limit ${limit} for no key update skip locked
        ), made as (
          update runs set not_before = null, updated_at = clock_timestamp()
          where id in (select id from due) returning id)
        select count(*)::int as count from made`)
    )
})
