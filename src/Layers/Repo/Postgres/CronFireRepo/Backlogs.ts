import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Backlog } from "../../../../Schemas/CronFire.ts"
import type { CronFireRepo } from "../../../../Services/CronFireRepo.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { firstRow } from "../Rows.ts"
import { ago, clockText } from "./Clock.ts"

const backlogColumns = makeColumns(
  Schema.Struct(Struct.pick(Backlog.fields, ["cronJobId", "schedule", "timezone"])),
  {}
).read("b")
const claimedBacklog = firstRow(Schema.Struct({ ...Backlog.fields, at: Schema.Date }))

/** Missed slots that are entered into the ledger bit by bit. */
export const make = ({
  query,
  sql
}: Database["Service"]): Pick<CronFireRepo["Service"], "claimBacklog" | "recordMissed"> => ({
  // With the job, that a removal of it has locked or waits: slots refer to it.
  claimBacklog: (keepMillis) =>
    query(
      Effect.map(
        claimedBacklog(sql`
          select ${backlogColumns}, b.missed_until as until,
            greatest(b.missed_from, date_trunc('second', ${ago(sql, keepMillis)})) as "from", ${sql.literal(clockText)} as at
          from cron_backlogs b join cron_jobs c on c.id = b.cron_job_id and c.deleted_at is null
          limit 1 for update of b skip locked for key share of c skip locked`),
        Option.map(({ at, ...backlog }) => ({ at, backlog }))
      )
    ),
  recordMissed: ({ cronJobId, until }, { at, rest, slots }) => {
    const written = sql`
      insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome)
      select ${cronJobId}, slot::timestamptz, ${at}::timestamptz, 'missed'
      from jsonb_array_elements_text(${sql.json(slots.map((slot) => slot.toISOString()))}) as s(slot)
      on conflict do nothing`
    const moved =
      rest === null
        ? sql`delete from cron_backlogs where cron_job_id = ${cronJobId} and missed_until = ${until}`
        : sql`
          update cron_backlogs set missed_from = ${rest.from}
          where cron_job_id = ${cronJobId} and missed_until = ${until}`
    return query(Effect.asVoid(Effect.andThen(written, moved)))
  }
})
