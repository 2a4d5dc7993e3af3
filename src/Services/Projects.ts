import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Forbidden, Unavailable } from "../Schemas/Errors.ts"
import type { ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import type { CreateProject, Project } from "../Schemas/Project.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { ProjectRepo } from "./ProjectRepo.ts"
import { Settings } from "./Settings.ts"

/** What a caller does with projects (CONTRACT.md section 8). */
export class Projects extends Context.Service<
  Projects,
  {
    readonly create: (
      user: User,
      input: CreateProject
    ) => Effect.Effect<Project, Forbidden | PlanLimitExceeded | Unavailable>
    readonly list: (
      user: User,
      workspaceId: WorkspaceId
    ) => Effect.Effect<ReadonlyArray<Project>, Forbidden | Unavailable>
  }
>()("agentd/Services/Projects") {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const repo = yield* ProjectRepo
      const { quotas } = yield* Settings
      return Projects.of({
        create: Effect.fnUntraced(function* (user, { name, workspaceId }) {
          yield* access.member(user, workspaceId)
          const id = yield* ids.make<ProjectId>("project")
          const project = { id, workspaceId, name, createdAt: yield* now }
          yield* repo.insert(project, quotas.projects).pipe(audited("project.create", project))
          return project
        }),
        list: Effect.fnUntraced(function* (user, workspaceId) {
          yield* access.member(user, workspaceId)
          return yield* repo.list(workspaceId)
        })
      })
    })
  )
}
