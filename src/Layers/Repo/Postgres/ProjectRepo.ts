import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Project } from "../../../Schemas/Project.ts"
import { ProjectRepo } from "../../../Services/ProjectRepo.ts"
import { Database } from "./Database.ts"
import { firstRow } from "./Rows.ts"

const project = firstRow(Project)

export const layer = Layer.effect(
  ProjectRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    return ProjectRepo.of({
      insert: ({ createdAt, id, name, workspaceId }) =>
        run(
          Effect.asVoid(sql`
            insert into projects (id, workspace_id, name, created_at)
            values (${id}, ${workspaceId}, ${name}, ${createdAt})`)
        ),
      find: (id) =>
        run(
          project(sql`
            select id, workspace_id as "workspaceId", name, created_at as "createdAt"
            from projects where id = ${id}`)
        )
    })
  })
)
