import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Project } from "../../../Schemas/Project.ts"
import { ProjectRepo } from "../../../Services/ProjectRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { insertUnlessFull } from "./Quotas.ts"
import { firstRow, rows } from "./Rows.ts"

const project = firstRow(Project)
const projects = rows(Project)
const columns = makeColumns(Project, {})

export const layer = Layer.effect(
  ProjectRepo,
  Effect.gen(function* () {
    const { change, lookUp, read, sql } = yield* Database
    const selected = columns.read()
    return ProjectRepo.of({
      insert: (given, most) =>
        change((audit) =>
          insertUnlessFull(sql, {
            table: "projects",
            quota: "projects",
            row: columns.row(given),
            workspaceId: given.workspaceId,
            most,
            audit
          })
        ),
      list: (workspaceId) =>
        read(
          workspaceId,
          projects(
            sql`select ${selected} from projects where workspace_id = ${workspaceId} order by created_at, id`
          )
        ),
      find: (id) => lookUp(project(sql`select ${selected} from projects where id = ${id}`))
    })
  })
)
