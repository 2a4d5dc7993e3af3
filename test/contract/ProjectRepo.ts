import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ProjectId } from "../../src/Schemas/Ids.ts"
import { ProjectRepo } from "../../src/Services/ProjectRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeProject, makeWorkspace, newId } from "../support/Fixtures.ts"

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
  })
