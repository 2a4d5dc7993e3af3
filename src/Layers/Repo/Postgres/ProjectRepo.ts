import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Project } from "../../../Schemas/Project.ts"
import { ProjectRepo } from "../../../Services/ProjectRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, rows } from "./Rows.ts"

const project = firstRow(Project)
const projects = rows(Project)

export const layer = Layer.effect(
  ProjectRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const columns = sql.literal(`id, workspace_id as "workspaceId", name, created_at as "createdAt"`)
    return ProjectRepo.of({
      insert: ({ createdAt, id, name, workspaceId }) =>
        run(
          Effect.asVoid(sql`
            insert into projects (id, workspace_id, name, created_at)
            values (${id}, ${workspaceId}, ${name}, ${createdAt})`)
        ),
      list: (workspaceId) =>
        run(
          projects(
            sql`select ${columns} from projects where workspace_id = ${workspaceId} order by created_at, id`
          )
        ),
      find: (id) => run(project(sql`select ${columns} from projects where id = ${id}`))
    })
  })
)
