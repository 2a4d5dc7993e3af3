import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AuditEntry } from "../../../Schemas/Audit.ts"
import { AuditRepo } from "../../../Services/AuditRepo.ts"
import { insertEntries } from "./AuditEntries.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, rows } from "./Rows.ts"

const entries = rows(AuditEntry)
const columns = makeColumns(AuditEntry, { actor: "json" })

export const layer = Layer.effect(
  AuditRepo,
  Effect.gen(function* () {
    const { query, read, sql } = yield* Database
    const selected = columns.read()
    return AuditRepo.of({
      // Whoever does not know whether they are there writes them again.
      add: (given) => query(Effect.asVoid(sql`${insertEntries(sql, given)} on conflict do nothing`)),
      list: ({ after, limit, workspaceId }) =>
        read(
          workspaceId,
          entries(sql`
            select ${selected} from audit_entries
            where workspace_id = ${workspaceId} ${after === null ? sql.literal("") : sql`and id < ${after}`}
            order by id desc limit ${limit}`)
        ),
      prune: (before, limit) =>
        query(
          count(sql`
            with old as (
              delete from audit_entries where ctid = any(array(
                select ctid from audit_entries where at < ${before}
                order by at limit ${limit} for update skip locked))
              returning 1)
            select count(*)::int as count from old`)
        )
    })
  })
)
