import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ConnectorId, ProviderKeyId } from "../../src/Schemas/Ids.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeProviderKey, makeWorkspace, newId } from "../support/Fixtures.ts"
import { makeConnector } from "./ConnectorRepo.ts"

const samples = Effect.flatMap(SealedRepo, (repo) => repo.samples)

/** Which of the texts, which are in no other row, are among the samples. */
const found = (...texts: ReadonlyArray<string>) =>
  Effect.map(samples, (all) => all.filter(({ sealed }) => texts.includes(sealed)))

export const suite = (it: It) =>
  describe("SealedRepo", () => {
    it.effect("gives the oldest and the newest key of a provider, by id", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const key = yield* makeProviderKey(yield* makeWorkspace)
        const insert = (id: string, sealedApiKey: string | null) =>
          keys.insert({ ...key, id: id as ProviderKeyId, hasApiKey: sealedApiKey !== null, sealedApiKey })
        const mark = yield* newId<string>("providerKey")
        for (const [id, name] of [
          [mark, "young"],
          ["pkey_00", "old"],
          [yield* newId<ProviderKeyId>("providerKey"), "younger"]
        ] as const) {
          yield* insert(id, `${name} ${mark}`)
        }
        yield* insert(yield* newId<ProviderKeyId>("providerKey"), null)
        yield* insert("pkey_000", null)
        const kind = "provider key" as const
        assert.sameDeepMembers(yield* found(`young ${mark}`, `old ${mark}`, `younger ${mark}`), [
          { kind, sealed: `old ${mark}`, newest: false },
          { kind, sealed: `younger ${mark}`, newest: true }
        ])
      })
    )

    it.effect("gives those of connectors, credentials and headers", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const mark = yield* newId<string>("connector")
        const insert = (id: string, name: string) =>
          makeConnector(workspaceId, {
            id: id as ConnectorId,
            hasCredential: true,
            sealedCredential: `${name} credential ${mark}`,
            metadata: { headers: `${name} headers ${mark}` }
          })
        yield* insert(yield* newId<ConnectorId>("connector"), "middle")
        yield* insert("conn_00", "old")
        yield* insert(yield* newId<ConnectorId>("connector"), "new")
        yield* makeConnector(workspaceId, { metadata: { headers: { a: "b" } } })
        yield* makeConnector(workspaceId)
        const kind = "connector" as const
        const texts = ["old", "middle", "new"].flatMap((name) => [
          `${name} credential ${mark}`,
          `${name} headers ${mark}`
        ])
        assert.sameDeepMembers(yield* found(...texts), [
          { kind, sealed: `old credential ${mark}`, newest: false },
          { kind, sealed: `old headers ${mark}`, newest: false },
          { kind, sealed: `new credential ${mark}`, newest: true },
          { kind, sealed: `new headers ${mark}`, newest: true }
        ])
      })
    )
  })
