import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ProjectId } from "../../src/Schemas/Ids.ts"
import { ProjectRepo } from "../../src/Services/ProjectRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeProject, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"

export const suite = (it: It) =>
  describe("ProjectRepo", () => {
    it.effect("finds what was inserted, and none where there is none", () =>
      Effect.gen(function* () {
        const projects = yield* ProjectRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
        assert.deepStrictEqual(yield* projects.find(one.id), Option.some(one))
        assert.deepStrictEqual(yield* projects.find(two.id), Option.some(two))
        assert.deepStrictEqual(yield* projects.find(yield* newId<ProjectId>("project")), Option.none())
      })
    )

    it.effect("lists those of the workspace, oldest first, those of one moment by id", () =>
      Effect.gen(function* () {
        const projects = yield* ProjectRepo
        const workspaceId = yield* makeWorkspace
        assert.deepStrictEqual(yield* projects.list(workspaceId), [])
        const young = yield* makeProject(workspaceId)
        const younger = yield* makeProject(workspaceId)
        yield* makeProject(yield* makeWorkspace)
        const id = yield* newId<ProjectId>("project")
        const old = { id, workspaceId, name: unicode, createdAt: at(-1) }
        yield* projects.insert(old)
        assert.deepStrictEqual(yield* projects.list(workspaceId), [old, young, younger])
      })
    )
  })
