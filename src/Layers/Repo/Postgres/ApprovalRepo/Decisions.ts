import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { notDecided } from "../../../../Schemas/Approval.ts"
import { RunId } from "../../../../Schemas/Ids.ts"
import { RunKind } from "../../../../Schemas/Run.ts"
import type { ApprovalRepo } from "../../../../Services/ApprovalRepo.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { Database } from "../Database.ts"
import { returnedRow, rows } from "../Rows.ts"

const runs = rows(Schema.Struct({ id: RunId }))
const endedRuns = rows(Schema.Struct({ id: RunId, kind: RunKind }))

/** What becomes of approvals and of the run that waits for them: somebody decides, or nobody does in time. */
export const make = ({
  change,
  query,
  sql
}: Database["Service"]): Pick<ApprovalRepo["Service"], "decide" | "expire"> => ({
  decide: (id, { decidedAt, decidedBy, reason, status }) =>
    change((audit) =>
      sql.withTransaction(
        Effect.gen(function* () {
          // The lock puts decisions about one run in order: the last of them sees all others.
          const [waiting] = yield* runs(sql`
            select r.id from runs r join approvals a on a.run_id = r.id
            where a.id = ${id} and r.status = 'WAITING_APPROVAL' for update of r`)
          if (waiting === undefined) return false
          const decided = yield* returnedRow(
            audit.with(sql`
            update approvals
            set status = ${status}, reason = ${reason}, decided_by = ${decidedBy},
              decided_at = ${decidedAt}
            where id = ${id} and status = 'PENDING' and expires_at > clock_timestamp()
            returning id`)
          )
          if (decided) {
            yield* sql`
              update runs
              set status = 'PENDING', attempts = attempts - 1, updated_at = clock_timestamp()
              where id = ${waiting.id} and not exists (
                select from approvals where run_id = ${waiting.id} and status = 'PENDING')`
          }
          return decided
        })
      )
    ),
  expire: (limit) =>
    query(
      endedRuns(sql`
          with late as materialized (
            select r.id from (
              select run_id from approvals
              where status = 'PENDING' and expires_at <= (select clock_timestamp())
              order by expires_at
            ) a cross join lateral (
              select id from runs where id = a.run_id and status = 'WAITING_APPROVAL' offset 0) r
            limit ${limit}
          ), locked as (
            select id from runs where id in (select id from late) and status = 'WAITING_APPROVAL'
            for update skip locked
          ), ended as (
            update runs
            set status = 'FAILED', error = ${notDecided}, error_code = 'approval_expired',
              finished_at = clock_timestamp(), updated_at = clock_timestamp()
            where id in (select id from locked)
            returning id, kind
          ), expired as (
            update approvals set status = 'EXPIRED'
            where status = 'PENDING' and run_id in (select id from ended)
          )
          select id, kind from ended`)
    ).pipe(
      Effect.tap((ended) =>
        Effect.forEach(ended, ({ kind }) => Metrics.countEnds(kind, "FAILED"), { discard: true })
      ),
      Effect.map((ended) => ended.map(({ id }) => id))
    )
})
