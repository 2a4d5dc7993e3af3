import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { UserId, type WorkspaceId } from "../../../Schemas/Ids.ts"
import type { ByPlan } from "../../../Schemas/Quotas.ts"
import { Email } from "../../../Schemas/User.ts"
import { Role, StoredMember, Workspace, WorkspaceView } from "../../../Schemas/Workspace.ts"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import type { Auditing } from "./AuditEntries.ts"
import { insertSelect, makeColumns } from "./Columns.ts"
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
const members = rows(StoredMember)
const memberColumns = makeColumns(StoredMember, {
  email: { read: "u.email" },
  isPending: { read: "false" }
}).read("m")
const invitedColumns = makeColumns(StoredMember, {
  userId: { read: "i.id" },
  isPending: { read: "true" },
  invitationId: { read: "i.id" }
}).read("i")
const MemberId = Schema.Struct({ userId: UserId })
const memberIds = rows(MemberId)
const removed = firstRow(Schema.Struct({ id: UserId }))
const idColumns = makeColumns(MemberId, {})
const Profile = Schema.Struct({ email: Email, isMember: Schema.Boolean })
const profile = firstRow(Profile)
const profileColumns = makeColumns(Profile, {
  isMember: { read: "u.disabled_at is null and m.user_id is not null" }
}).read("u")
const updated = firstRow(Schema.Struct({ id: Schema.String }))
const Membership = Schema.Struct({ role: Role, isPending: Schema.Boolean })
const membership = firstRow(Membership)
const roleColumns = makeColumns(Membership, { isPending: { read: "false" } })
const roleShown = roleColumns.read("m")
const invitedRole = makeColumns(Membership, { isPending: { read: "true" } }).read("i")

/** Stores a workspace unless its maker may have no more; within a transaction. */
const insertWithin = (
  sql: PgClient,
  {
    audit,
    createdBy,
    most,
    row
  }: {
    readonly row: object
    readonly createdBy: UserId
    readonly most: ByPlan
    readonly audit: Auditing
  }
) => {
  const full = fullPlanOfUser(sql, "workspacesOwned", createdBy, countOwned(sql, createdBy), most)
  const room = sql.literal("(select 1) one where not exists (select from full_plan)")
  return Effect.andThen(
    lockUser(sql, createdBy),
    unlessFull({ workspacesOwned: most })(sql`
      with ${full}, made as (${insertSelect("workspaces", { ...row }, room)} returning id)${audit.of("made")}
      select * from ${readFull(sql)} full_plan`)
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

/**
 * The user where it is there, `as u`, and its invitation, which ends, `as ended`. The workspace is locked first, as by
 * who changes the invitation: one that comes within a transaction may lock it later.
 */
const endOf = (sql: PgClient, id: WorkspaceId, userId: UserId, isThere: string) => sql`
  w as materialized (
    select id from workspaces where id = ${id} for no key update
  ), u as materialized (
    select u.id, u.email from w, users u where u.id = ${userId} and u.${sql.literal(isThere)} is null
    for key share of u
  ), ended as (
    delete from workspace_invitations i using u where i.workspace_id = ${id} and i.email = u.email
    returning i.id, i.role, i.created_at)`

/** Who belongs to workspaces. */
const ofMembers = ({ change, list, lookUp, query, sql }: Database["Service"]) => {
  const asMember = (id: WorkspaceId, userId: UserId) => sql`
    select ${roleShown} from workspace_members m
    join users u on u.id = m.user_id and u.disabled_at is null
    where m.workspace_id = ${id} and m.user_id = ${userId}`
  /** Of requests of one user that come at once only one finds the invitation; the others look again. */
  const join = (id: WorkspaceId, userId: UserId) =>
    change((audit) =>
      Effect.flatMap(
        membership(sql`
          with ${endOf(sql, id, userId, "disabled_at")}, changed as (
            insert into workspace_members (workspace_id, user_id, role, created_at, invitation_id)
            select ${id}, u.id, ended.role, ended.created_at, ended.id from u, ended
            on conflict do nothing returning user_id as id, role
          )${audit.of("changed")}
          select ${roleColumns.read()} from changed`),
        (found) => (Option.isSome(found) ? Effect.succeed(found) : membership(asMember(id, userId)))
      )
    )
  return {
    // The foreign key alone lets one in who was removed, since the row stays.
    addMember: (id, userId, role, at) =>
      change((audit) =>
        returnedRow(sql`
          with ${endOf(sql, id, userId, "deleted_at")}, changed as (
            insert into workspace_members as m (workspace_id, user_id, role, created_at, invitation_id)
            select ${id}, u.id, ${role}, coalesce(ended.created_at, ${at}::timestamptz), ended.id
            from u left join ended on true
            on conflict (workspace_id, user_id) do update
              set role = excluded.role, invitation_id = coalesce(m.invitation_id, excluded.invitation_id)
            returning user_id as id
          )${audit.of("changed")}
          select id from changed`)
      ),
    invite: (workspaceId, { createdAt, email, id, role }) =>
      change((audit) =>
        Effect.asVoid(
          audit.with(sql`
            insert into workspace_invitations (workspace_id, email, id, role, created_at)
            values (${workspaceId}, ${email}, ${id}, ${role}, ${createdAt})
            on conflict (workspace_id, email) do update set role = excluded.role returning id`)
        )
      ),
    members: (id) =>
      list(
        members(sql`
          select ${memberColumns}
          from workspace_members m join users u on u.id = m.user_id and u.deleted_at is null
          where m.workspace_id = ${id}
          union all
          select ${invitedColumns} from workspace_invitations i where i.workspace_id = ${id}
          order by "createdAt", "userId"`)
      ),
    // One statement would not see who becomes a member while it waits for the invitation.
    removeMember: (id, userId) =>
      change((audit) =>
        Effect.gen(function* () {
          const isInvited = yield* returnedRow(sql`
            delete from workspace_invitations
            where workspace_id = ${id} and (id = ${userId} or email = (select email from users where id = ${userId}))
            returning id`)
          const member = yield* removed(
            audit.with(sql`
              delete from workspace_members
              where workspace_id = ${id} and (user_id = ${userId} or invitation_id = ${userId})
              returning user_id as id`)
          )
          if (Option.isSome(member)) return Option.some(member.value.id)
          if (!isInvited) return Option.none()
          // Its entry is of no other change.
          yield* audit.with(sql`select ${userId}::text as id`)
          return Option.some(userId)
        })
      ),
    removeMemberships: ({ email, id }) =>
      query(
        Effect.asVoid(sql`
          with invited as (delete from workspace_invitations where email = ${email})
          delete from workspace_members where user_id = ${id}`)
      ),
    role: (id, userId) =>
      lookUp(
        membership(sql`
          ${asMember(id, userId)}
          union all
          select ${invitedRole} from users u
          join workspace_invitations i on i.workspace_id = ${id} and i.email = u.email
          where u.id = ${userId} and u.disabled_at is null
          limit 1`)
      ).pipe(
        Effect.flatMap((found) =>
          Option.isSome(found) && found.value.isPending ? join(id, userId) : Effect.succeed(found)
        ),
        Effect.map(Option.map(({ role }) => role))
      ),
    // First the user, as a deletion does.
    lockMembers: (id, userIds) =>
      query(
        Effect.map(
          memberIds(sql`
            select ${idColumns.read("m")} from users u join workspace_members m on m.user_id = u.id
            where ${sql.in("u.id", userIds)} and u.disabled_at is null and m.workspace_id = ${id}
            order by u.id for share of u for key share of m`),
          (found) => found.map(({ userId }) => userId)
        )
      ),
    profile: (id, userId) =>
      query(
        profile(sql`
          select ${profileColumns} from users u
          left join workspace_members m on m.workspace_id = ${id} and m.user_id = u.id
          where u.id = ${userId} and u.deleted_at is null`)
      )
  } satisfies Partial<WorkspaceRepo["Service"]>
}

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, list, lookUp, query, sql } = database
    return WorkspaceRepo.of({
      insert: (given, createdBy, most) => {
        const row = { ...columns.row(given), created_by: createdBy }
        return change((audit) =>
          Effect.asVoid(
            createdBy === null || most === undefined
              ? audit.with(sql`insert into workspaces ${sql.insert(row)} returning id`)
              : insertWithin(sql, { row, createdBy, most, audit })
          )
        )
      },
      find: (id) => lookUp(workspace(sql`select ${shown} from workspaces w where w.id = ${id}`)),
      lock: (id) =>
        query(workspace(sql`select ${shown} from workspaces w where w.id = ${id} for no key update`)),
      list: (userId) =>
        list(
          workspaces(sql`
            select ${viewColumns.read("w")} from workspaces w join (
              select workspace_id, role from workspace_members where user_id = ${userId}
              union all
              select i.workspace_id, i.role from users u join workspace_invitations i on i.email = u.email
              where u.id = ${userId} and not exists (
                select from workspace_members o where o.workspace_id = i.workspace_id and o.user_id = u.id)
            ) m on m.workspace_id = w.id
            order by w.created_at, w.id`)
        ),
      ...forOperators(database),
      ...ofMembers(database),
      update: (id, { defaultProviderKeyId, name }, updatedAt) =>
        change((audit) =>
          updated(sql`
            with ${goneOf(sql, { defaultProviderKeyId })}, changed as (
              update workspaces set ${sql.update(columns.changes({ name, defaultProviderKeyId, updatedAt }))}
              where id = ${id} and not exists (select from gone) returning id)${audit.of("changed")}
            select id from changed`).pipe(orGone(sql, { defaultProviderKeyId }), Effect.map(Option.isSome))
        ),
      setPlan: (id, plan, at) =>
        change((audit) =>
          returnedRow(
            audit.with(
              sql`update workspaces set plan = ${plan}, updated_at = ${at} where id = ${id} returning id`
            )
          )
        )
    })
  })
)
