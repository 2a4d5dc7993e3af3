import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Project } from "../Schemas/Project.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"

/** The projects of workspaces. */
export class ProjectRepo extends Context.Service<
  ProjectRepo,
  {
    /** `most` as in `AgentRepo`. */
    readonly insert: (project: Project, most?: ByPlan) => Effect.Effect<void, PlanLimitExceeded | Unavailable>
    /** All of the workspace, oldest first. */
    readonly list: (workspaceId: WorkspaceId) => Effect.Effect<ReadonlyArray<Project>, Unavailable>
    readonly find: (id: ProjectId) => Effect.Effect<Option.Option<Project>, Unavailable>
  }
>()("agentd/Services/ProjectRepo") {}
