import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ProviderKeyId } from "../../src/Schemas/Ids.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeProviderKey, makeWorkspace, newId } from "../support/Fixtures.ts"

export const suite = (it: It) =>
  describe("ProviderKeyRepo", () => {
    it.effect("finds what was inserted, and none where there is none", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProviderKey(workspaceId), yield* makeProviderKey(workspaceId)]
        assert.deepStrictEqual(yield* keys.find(one.id), Option.some(one))
        assert.deepStrictEqual(yield* keys.find(two.id), Option.some(two))
        assert.deepStrictEqual(yield* keys.find(yield* newId<ProviderKeyId>("providerKey")), Option.none())
      })
    )
  })
