import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Role, Workspace } from "../../../Schemas/Workspace.ts"
import { WorkspaceRepo } from "../../../Services/WorkspaceRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow } from "./Rows.ts"

const workspace = firstRow(Workspace)
const membership = firstRow(Schema.Struct({ role: Role }))

export const layer = Layer.effect(
  WorkspaceRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    return WorkspaceRepo.of({
      insert: ({ createdAt, id, name, plan, updatedAt }) =>
        run(
          Effect.asVoid(sql`
            insert into workspaces (id, name, plan, created_at, updated_at)
            values (${id}, ${name}, ${plan}, ${createdAt}, ${updatedAt})`)
        ),
      find: (id) =>
        run(
          workspace(sql`
            select id, name, plan, created_at as "createdAt", updated_at as "updatedAt"
            from workspaces where id = ${id}`)
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
