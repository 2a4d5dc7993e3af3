import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { notDecided, StoredApproval } from "../../../Schemas/Approval.ts"
import { RunId } from "../../../Schemas/Ids.ts"
import { ApprovalRepo } from "../../../Services/ApprovalRepo.ts"
import { insertSelect, makeColumns, recordset } from "./Columns.ts"
import { Database } from "./Database.ts"
import { keeping } from "./EventBatches.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const approval = firstRow(StoredApproval)
const approvals = rows(StoredApproval)
const runs = rows(Schema.Struct({ id: RunId }))
const columns = makeColumns(StoredApproval, { arguments: "json" })

export const layer = Layer.effect(
  ApprovalRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const selected = columns.read("a")

    return ApprovalRepo.of({
      park: ({ epoch, id, worker }, given, events, firstTokenAt = null) =>
        query(
          returnedRow(sql`
            with parked as (
              update runs
              set status = 'WAITING_APPROVAL', lease_until = null, updated_at = clock_timestamp(),
                first_token_at = coalesce(first_token_at, ${firstTokenAt}::timestamptz)
              where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'RUNNING'
              returning id, workspace_id
            ), asked as (
              ${insertSelect(
                "approvals",
                {
                  ...columns.from("g"),
                  workspace_id: sql.literal("p.workspace_id"),
                  run_id: sql.literal("p.id"),
                  status: "PENDING"
                },
                sql`parked p, ${recordset(sql, "approvals", given.map(columns.json))} g`
              )}
              on conflict do nothing
            )${keeping(sql, "parked", events)}
            select id from parked
            union all
            select id from runs
            where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'WAITING_APPROVAL'`)
        ),
      ofRun: (id) =>
        query(
          approvals(sql`
            select ${selected} from approvals a where a.run_id = ${id} order by a.created_at, a.id`)
        ),
      waiting: ({ limit, offset, workspaceId }) =>
        query(
          approvals(sql`
            select ${selected} from approvals a join runs r on r.id = a.run_id
            where a.workspace_id = ${workspaceId} and a.status = 'PENDING' and r.status = 'WAITING_APPROVAL'
            order by a.created_at, a.id limit ${limit} offset ${offset}::bigint`)
        ),
      find: (id) => query(approval(sql`select ${selected} from approvals a where a.id = ${id}`)),
      decide: (id, { decidedAt, decidedBy, reason, status }) =>
        query(
          sql.withTransaction(
            Effect.gen(function* () {
              // The lock puts decisions about one run in order: the last of them sees all others.
              const [waiting] = yield* runs(sql`
                select r.id from runs r join approvals a on a.run_id = r.id
                where a.id = ${id} and r.status = 'WAITING_APPROVAL' for update of r`)
              if (waiting === undefined) return false
              const decided = yield* returnedRow(sql`
                update approvals
                set status = ${status}, reason = ${reason}, decided_by = ${decidedBy},
                  decided_at = ${decidedAt}
                where id = ${id} and status = 'PENDING' and expires_at > clock_timestamp()
                returning id`)
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
          Effect.map(
            runs(sql`
              with late as (
                select distinct r.id from runs r join approvals a on a.run_id = r.id
                where a.status = 'PENDING' and a.expires_at <= clock_timestamp()
                  and r.status = 'WAITING_APPROVAL'
                limit ${limit}
              ), locked as (
                select id from runs where id in (select id from late) and status = 'WAITING_APPROVAL'
                for update skip locked
              ), ended as (
                update runs
                set status = 'FAILED', error = ${notDecided}, error_code = 'approval_expired',
                  finished_at = clock_timestamp(), updated_at = clock_timestamp()
                where id in (select id from locked)
                returning id
              ), expired as (
                update approvals set status = 'EXPIRED'
                where status = 'PENDING' and run_id in (select id from ended)
              )
              select id from ended`),
            (ended) => ended.map(({ id }) => id)
          )
        )
    })
  })
)
