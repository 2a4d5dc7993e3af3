import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ProjectRepo } from "../../../Services/ProjectRepo.ts"
import { inOrder } from "./Order.ts"
import { unlessFullIn } from "./Quotas.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  ProjectRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { projects } = tables
    return guard(
      ProjectRepo.of({
        insert: (project, most) =>
          unlessFullIn(
            tables,
            "projects",
            project.workspaceId,
            most,
            () => void projects.set(project.id, project)
          ),
        list: (workspaceId) =>
          Effect.sync(() =>
            Array.from(projects.values())
              .filter((project) => project.workspaceId === workspaceId)
              .sort(inOrder("createdAt"))
          ),
        find: (id) => Effect.sync(() => Option.fromNullishOr(projects.get(id)))
      })
    )
  })
)
