import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Member, Role, Workspace, WorkspaceView } from "../../../Schemas/Workspace.ts"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const workspace = firstRow(Workspace)
const workspaces = rows(WorkspaceView)
const members = rows(Member)
const membership = firstRow(Schema.Struct({ role: Role }))

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const columns = sql.literal(`
      w.id, w.name, w.plan, w.default_provider_key_id as "defaultProviderKeyId",
      w.created_at as "createdAt", w.updated_at as "updatedAt"`)
    return WorkspaceRepo.of({
      insert: ({ createdAt, defaultProviderKeyId, id, name, plan, updatedAt }) =>
        run(
          Effect.asVoid(sql`
            insert into workspaces (id, name, plan, default_provider_key_id, created_at, updated_at)
            values (${id}, ${name}, ${plan}, ${defaultProviderKeyId}, ${createdAt}, ${updatedAt})`)
        ),
      find: (id) => run(workspace(sql`select ${columns} from workspaces w where w.id = ${id}`)),
      lock: (id) =>
        run(workspace(sql`select ${columns} from workspaces w where w.id = ${id} for no key update`)),
      list: (userId) =>
        run(
          workspaces(sql`
            select ${columns}, m.role from workspaces w
            join workspace_members m on m.workspace_id = w.id
            where m.user_id = ${userId} order by w.created_at, w.id`)
        ),
      update: (id, { defaultProviderKeyId, name }, at) =>
        run(
          returnedRow(sql`
            update workspaces
            set name = ${name}, default_provider_key_id = ${defaultProviderKeyId}, updated_at = ${at}
            where id = ${id} returning id`)
        ),
      members: (id) =>
        run(
          members(sql`
            select m.user_id as "userId", u.email, m.role, m.created_at as "createdAt"
            from workspace_members m join users u on u.id = m.user_id
            where m.workspace_id = ${id} order by m.created_at, m.user_id`)
        ),
      removeMember: (id, userId) =>
        run(
          returnedRow(sql`
            delete from workspace_members where workspace_id = ${id} and user_id = ${userId}
            returning user_id`)
        ),
      setPlan: (id, plan, at) =>
        run(
          returnedRow(
            sql`update workspaces set plan = ${plan}, updated_at = ${at} where id = ${id} returning id`
          )
        ),
      addMember: (id, userId, role, at) =>
        run(
          Effect.asVoid(sql`
            insert into workspace_members (workspace_id, user_id, role, created_at)
            values (${id}, ${userId}, ${role}, ${at})
            on conflict (workspace_id, user_id) do update set role = excluded.role`)
        ),
      role: (id, userId) =>
        run(
          Effect.map(
            membership(
              sql`select role from workspace_members where workspace_id = ${id} and user_id = ${userId}`
            ),
            Option.map((row) => row.role)
          )
        )
    })
  })
)
