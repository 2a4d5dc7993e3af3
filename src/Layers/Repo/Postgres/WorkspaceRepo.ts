import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Fragment } from "effect/sql/Statement"
import type { UserId, WorkspaceId } from "../../../Schemas/Ids.ts"
import type { ByPlan } from "../../../Schemas/Quotas.ts"
import { Member, Role, Workspace, WorkspaceView } from "../../../Schemas/Workspace.ts"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { goneOf, orGone } from "./Named.ts"
import { countOwned, fullPlanOfUser, lockUser, readFull, unlessFull } from "./Quotas.ts"
import { unlessMarked } from "./Removed.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const workspace = firstRow(Workspace)
const columns = makeColumns(Workspace, {})
const defaultProviderKeyId = { read: unlessMarked("default_provider_key_id", "provider_keys") }
const pages = rows(Workspace)
const shown = makeColumns(Workspace, { defaultProviderKeyId }).read("w")
const workspaces = rows(WorkspaceView)
const viewColumns = makeColumns(WorkspaceView, { role: { read: "m.role" }, defaultProviderKeyId })
const members = rows(Member)
const memberColumns = makeColumns(Member, { email: { read: "u.email" } })
const updated = firstRow(Schema.Struct({ id: Schema.String }))
const membership = firstRow(Schema.Struct({ role: Role }))

/** Makes a user an owner who may own one more workspace, or owns this one; within a transaction. */
const unlessOwnsMost = (
  sql: PgClient,
  given: {
    readonly id: WorkspaceId
    readonly userId: UserId
    readonly most: ByPlan
    readonly added: (unless: Fragment) => Fragment
  }
) => {
  const { added, id, most, userId } = given
  const isOwner = sql`exists (
    select from workspace_members where workspace_id = ${id} and user_id = ${userId} and role = 'owner')`
  const full = fullPlanOfUser(sql, "workspacesOwned", userId, countOwned(sql, userId), most, isOwner)
  return Effect.andThen(
    lockUser(sql, userId),
    unlessFull({ workspacesOwned: most })(sql`
      with ${full}, added as (${added(sql.literal("and not exists (select from full_plan)"))})
      select * from added full join ${readFull(sql)} full_plan on true`)
  )
}

/** What goes through all workspaces, or through all of a user. */
const forOperators = ({ query, sql }: Database["Service"]) => {
  const isMember = (userId: UserId, role?: Role) => sql`w.id in (
      select workspace_id from workspace_members
      where user_id = ${userId} ${role === undefined ? sql.literal("") : sql`and role = ${role}`})`
  return {
    page: ({ after, limit, userId }) =>
      query(
        pages(sql`
            select ${shown} from workspaces w
            where w.id > ${after ?? ""} ${userId === null ? sql.literal("") : sql`and ${isMember(userId)}`}
            order by w.id limit ${limit}`)
      ),
    lockOwned: (userId) =>
      query(
        Effect.asVoid(sql`
            select from workspaces w where ${isMember(userId, "owner")} order by w.id for no key update of w`)
      ),
    onlyOwned: (userId, limit) =>
      query(
        pages(sql`
            select ${shown} from workspaces w
            where ${isMember(userId, "owner")} and not exists (
              select from workspace_members o join users u on u.id = o.user_id and u.deleted_at is null
              where o.workspace_id = w.id and o.role = 'owner' and o.user_id <> ${userId})
            order by w.id limit ${limit}`)
      )
  } satisfies Partial<WorkspaceRepo["Service"]>
}

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    return WorkspaceRepo.of({
      insert: (given, createdBy) =>
        query(
          Effect.asVoid(
            sql`insert into workspaces ${sql.insert({ ...columns.row(given), created_by: createdBy })}`
          )
        ),
      find: (id) => query(workspace(sql`select ${shown} from workspaces w where w.id = ${id}`)),
      lock: (id) =>
        query(workspace(sql`select ${shown} from workspaces w where w.id = ${id} for no key update`)),
      list: (userId) =>
        query(
          workspaces(sql`
            select ${viewColumns.read("w")} from workspaces w
            join workspace_members m on m.workspace_id = w.id
            where m.user_id = ${userId} order by w.created_at, w.id`)
        ),
      ...forOperators({ query, sql }),
      update: (id, { defaultProviderKeyId, name }, updatedAt) =>
        query(
          updated(sql`
            with ${goneOf(sql, { defaultProviderKeyId })}
            update workspaces set ${sql.update(columns.changes({ name, defaultProviderKeyId, updatedAt }))}
            where id = ${id} and not exists (select from gone) returning id`).pipe(
            orGone(sql, { defaultProviderKeyId }),
            Effect.map(Option.isSome)
          )
        ),
      members: (id) =>
        query(
          members(sql`
            select ${memberColumns.read("m")}
            from workspace_members m join users u on u.id = m.user_id and u.deleted_at is null
            where m.workspace_id = ${id} order by m.created_at, m.user_id`)
        ),
      removeMember: (id, userId) =>
        query(
          returnedRow(sql`
            delete from workspace_members where workspace_id = ${id} and user_id = ${userId}
            returning user_id`)
        ),
      removeMemberships: (userId) =>
        query(Effect.asVoid(sql`delete from workspace_members where user_id = ${userId}`)),
      setPlan: (id, plan, at) =>
        query(
          returnedRow(
            sql`update workspaces set plan = ${plan}, updated_at = ${at} where id = ${id} returning id`
          )
        ),
      addMember: (id, userId, role, at, most) => {
        // The foreign key alone lets one in who was removed, since the row stays.
        const added = (unless: Fragment) => sql`
          insert into workspace_members (workspace_id, user_id, role, created_at)
          select ${id}, id, ${role}, ${at}::timestamptz from users
          where id = ${userId} and deleted_at is null ${unless} for key share
          on conflict (workspace_id, user_id) do update set role = excluded.role
          returning user_id`
        return query(
          returnedRow(
            most === undefined || role !== "owner"
              ? added(sql.literal(""))
              : unlessOwnsMost(sql, { id, userId, most, added })
          )
        )
      },
      role: (id, userId) =>
        query(
          Effect.map(
            membership(sql`
              select role from workspace_members m join users u on u.id = m.user_id and u.disabled_at is null
              where m.workspace_id = ${id} and m.user_id = ${userId}`),
            Option.map((row) => row.role)
          )
        )
    })
  })
)
