import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import { Forbidden, type Unavailable } from "../../src/Schemas/Errors.ts"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import { Projects } from "../../src/Services/Projects.ts"
import { layerOffline } from "../support/Service.ts"
import { makeTeam } from "../support/Team.ts"

describe("Projects", () => {
  it.effect("are made and listed by any member, and by nobody else", () =>
    Effect.gen(function* () {
      const { id, member, owner, stranger } = yield* makeTeam
      const projects = yield* Projects
      const project = yield* projects.create(member, { workspaceId: id, name: "P" })
      assert.deepStrictEqual(project, {
        id: project.id,
        workspaceId: id,
        name: "P",
        createdAt: new Date(1_000)
      })
      assert.deepStrictEqual(yield* projects.list(owner, id), [project])
      const refusals: ReadonlyArray<Effect.Effect<unknown, Forbidden | PlanLimitExceeded | Unavailable>> = [
        projects.create(stranger, { workspaceId: id, name: "P" }),
        projects.list(stranger, id),
        projects.list(owner, "ws_absent" as WorkspaceId)
      ]
      for (const refused of refusals) {
        assert.instanceOf(yield* Effect.flip(refused), Forbidden)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
