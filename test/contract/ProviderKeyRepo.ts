import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ProviderKeyId } from "../../src/Schemas/Ids.ts"
import type { StoredProviderKey } from "../../src/Schemas/ProviderKey.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeProviderKey,
  makeRun,
  makeWorkspace,
  newId,
  unicode
} from "../support/Fixtures.ts"

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

    it.effect("keeps the sealed key, the address and the limit", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const sealed = {
          ...(yield* makeProviderKey(yield* makeWorkspace)),
          id: yield* newId<ProviderKeyId>("providerKey"),
          provider: "openai-compatible" as const,
          baseUrl: "http://127.0.0.1:11434/v1",
          maxOutputTokens: 1_000_000,
          hasApiKey: true,
          sealedApiKey: unicode
        }
        yield* keys.insert(sealed)
        assert.deepStrictEqual(yield* keys.find(sealed.id), Option.some(sealed))
        assert.deepInclude(yield* keys.usable(sealed.workspaceId), { ...sealed, isDefault: false })
      })
    )

    it.effect("keeps a price, changes it and nothing else, and not that of a key that is gone", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const key = yield* makeProviderKey(yield* makeWorkspace)
        const pricing = { inputPerMillion: 2.5, cachedInputPerMillion: 0.25, outputPerMillion: 10 }
        const priced = { ...key, id: yield* newId<ProviderKeyId>("providerKey"), pricing }
        yield* keys.insert(priced)
        assert.deepStrictEqual(yield* keys.find(priced.id), Option.some(priced))
        assert.isTrue(yield* keys.update(key.id, { pricing }))
        assert.deepStrictEqual(yield* keys.find(key.id), Option.some({ ...key, pricing }))
        assert.isTrue(yield* keys.update(key.id, { pricing: null }))
        assert.deepStrictEqual(yield* keys.find(key.id), Option.some(key))
        yield* keys.remove(key.id)
        assert.isFalse(yield* keys.update(key.id, { pricing }))
      })
    )

    it.effect("says which key is the default of its workspace, until it is removed", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const workspaces = yield* WorkspaceRepo
        const workspaceId = yield* makeWorkspace
        const [one, two, three] = [
          yield* makeProviderKey(workspaceId),
          yield* makeProviderKey(workspaceId),
          yield* makeProviderKey(workspaceId)
        ]
        const other = yield* makeProviderKey(yield* makeWorkspace)
        yield* workspaces.update(other.workspaceId, { name: "w", defaultProviderKeyId: other.id }, at())
        const usual = (first: number, ...found: ReadonlyArray<StoredProviderKey>) =>
          found.map((key, index) => ({ ...key, isDefault: index === first }))
        assert.deepStrictEqual(yield* keys.usable(workspaceId), usual(-1, one, two, three))
        yield* workspaces.update(workspaceId, { name: "w", defaultProviderKeyId: three.id }, at())
        assert.deepStrictEqual(yield* keys.usable(workspaceId), usual(2, one, two, three))
        assert.deepStrictEqual(yield* keys.list(workspaceId), [one, two, three])
        yield* keys.remove(three.id)
        assert.deepStrictEqual(yield* keys.usable(workspaceId), usual(-1, one, two))
        assert.isNull(Option.getOrThrow(yield* workspaces.find(workspaceId)).defaultProviderKeyId)
      })
    )

    it.effect("lists those of the workspace, oldest first, those of one moment by id", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const workspaceId = yield* makeWorkspace
        assert.deepStrictEqual(yield* keys.list(workspaceId), [])
        const young = yield* makeProviderKey(workspaceId)
        const younger = yield* makeProviderKey(workspaceId)
        yield* makeProviderKey(yield* makeWorkspace)
        const old = { ...young, id: yield* newId<ProviderKeyId>("providerKey"), createdAt: at(-1) }
        yield* keys.insert(old)
        assert.deepStrictEqual(yield* keys.list(workspaceId), [old, young, younger])
      })
    )

    it.effect("leaves agents and runs without the key that it removes, and others with theirs", () =>
      Effect.gen(function* () {
        const [agents, keys, runs] = [yield* AgentRepo, yield* ProviderKeyRepo, yield* RunRepo]
        const workspaceId = yield* makeWorkspace
        const [gone, kept] = [yield* makeProviderKey(workspaceId), yield* makeProviderKey(workspaceId)]
        const over = { status: "COMPLETED" } as const
        const agent = yield* makeAgent(workspaceId, { providerKeyId: gone.id })
        const run = yield* makeRun(workspaceId, { ...over, providerKeyId: gone.id })
        const otherAgent = yield* makeAgent(workspaceId, { providerKeyId: kept.id })
        const otherRun = yield* makeRun(workspaceId, { ...over, providerKeyId: kept.id })

        assert.isTrue(yield* keys.remove(gone.id))
        assert.deepStrictEqual(yield* keys.find(gone.id), Option.none())
        assert.deepStrictEqual(yield* keys.list(workspaceId), [kept])
        assert.deepStrictEqual(
          yield* agents.find(agent.id),
          Option.some({ ...agent, policy: null, providerKeyId: null, providerKey: null })
        )
        assert.deepStrictEqual(yield* runs.find(run.id), Option.some({ ...run, providerKeyId: null }))
        assert.deepStrictEqual(
          yield* agents.find(otherAgent.id),
          Option.some({ ...otherAgent, policy: null })
        )
        assert.deepStrictEqual(yield* runs.find(otherRun.id), Option.some(otherRun))
        assert.isFalse(yield* keys.remove(gone.id))
      })
    )
  })
