import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredApproval } from "../../../Schemas/Approval.ts"
import { ApprovalRepo } from "../../../Services/ApprovalRepo.ts"
import * as Decisions from "./ApprovalRepo/Decisions.ts"
import { insertSelect, makeColumns, recordset } from "./Columns.ts"
import { Database } from "./Database.ts"
import { keeping } from "./EventBatches.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const approval = firstRow(StoredApproval)
const approvals = rows(StoredApproval)
const columns = makeColumns(StoredApproval, { arguments: "json", connector: "json" })

export const layer = Layer.effect(
  ApprovalRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { lookUp, query, read, sql } = database

    const selected = columns.read("a")

    return ApprovalRepo.of({
      ...Decisions.make(database),
      park: ({ epoch, id, worker }, given, events, firstTokenAt = null) =>
        query(
          returnedRow(sql`
            with parked as (
              update runs
              set status = 'WAITING_APPROVAL', lease_until = null, crashes = 0, updated_at = clock_timestamp(),
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
      // Runs are looked at one after the other: a join would read all that wait, to sort them.
      waiting: ({ limit, offset, workspaceId }) =>
        read(
          workspaceId,
          approvals(sql`
            select ${selected} from approvals a
            where a.workspace_id = ${workspaceId} and a.status = 'PENDING'
              and (select status from runs where id = a.run_id) = 'WAITING_APPROVAL'
            order by a.created_at, a.id limit ${limit} offset ${offset}::bigint`)
        ),
      find: (id) =>
        lookUp(
          approval(sql`
            select ${selected} from approvals a where a.id = ${id} and not exists (
              select from runs r join conversations c on c.id = r.conversation_id
              where r.id = a.run_id and c.deleted_at is not null)`)
        )
    })
  })
)
