import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { Forbidden, NotFound } from "../../src/Schemas/Errors.ts"
import type { ProviderKeyId } from "../../src/Schemas/Ids.ts"
import { CreateProviderKey } from "../../src/Schemas/ProviderKey.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { Agents } from "../../src/Services/Agents.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { Workspaces } from "../../src/Services/Workspaces.ts"
import { makeAgent } from "../support/Fixtures.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"

const canary = "sk-canary-7f3a"

const makeKey = Effect.gen(function* () {
  yield* TestClock.setTime(1_000)
  const keys = yield* ProviderKeys
  const { user, workspaceId } = yield* makeTenant()
  const given = { workspaceId, name: "Ours", provider: "openai", model: "gpt-5", apiKey: canary } as const
  return { given, key: yield* keys.create(user, given), keys, user, workspaceId }
})

describe("ProviderKeys", () => {
  it.effect("seals the key for its row, and shows only that there is one", () =>
    Effect.gen(function* () {
      const { key, keys, user, workspaceId } = yield* makeKey
      assert.deepStrictEqual(key, {
        id: key.id,
        workspaceId,
        name: "Ours",
        provider: "openai",
        model: "gpt-5",
        baseUrl: null,
        maxOutputTokens: null,
        pricing: null,
        hasApiKey: true,
        createdAt: new Date(1_000)
      })
      assert.deepStrictEqual(yield* keys.list(user, workspaceId), [key])
      const row = Option.getOrThrow(yield* (yield* ProviderKeyRepo).find(key.id))
      assert.notInclude(JSON.stringify(row), "canary")
      const box = yield* SecretBox
      const opened = yield* box.open(key.id, row.sealedApiKey ?? "")
      assert.strictEqual(Redacted.value(opened), canary)
      yield* Effect.flip(box.open("pkey_other", row.sealedApiKey ?? ""))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("has no key where none is given", () =>
    Effect.gen(function* () {
      const { given, keys, user } = yield* makeKey
      const baseUrl = "http://127.0.0.1:11434/v1"
      for (const apiKey of [null, undefined]) {
        const { apiKey: _, ...rest } = given
        const local = { ...rest, provider: "openai-compatible" as const, baseUrl }
        const made = yield* keys.create(user, apiKey === null ? { ...local, apiKey } : local)
        assert.deepStrictEqual([made.hasApiKey, made.baseUrl], [false, baseUrl])
        const row = Option.getOrThrow(yield* (yield* ProviderKeyRepo).find(made.id))
        assert.isNull(row.sealedApiKey)
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("removes a key once, and the agents that named it have none", () =>
    Effect.gen(function* () {
      const { key, keys, user, workspaceId } = yield* makeKey
      const agent = yield* makeAgent(workspaceId, { providerKeyId: key.id })
      assert.strictEqual(agent.providerKey?.id, key.id)
      yield* keys.remove(user, key.id)
      assert.deepStrictEqual(yield* keys.list(user, workspaceId), [])
      const bereft = Option.getOrThrow(yield* (yield* AgentRepo).find(agent.id))
      assert.deepStrictEqual([bereft.providerKeyId, bereft.providerKey], [null, null])
      assert.instanceOf(yield* Effect.flip(keys.remove(user, key.id)), NotFound)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("makes the first key of a workspace its default, and no other", () =>
    Effect.gen(function* () {
      const { given, key, keys, user, workspaceId } = yield* makeKey
      const workspaces = yield* Workspaces
      const usual = Effect.map(workspaces.get(user, workspaceId), (found) => found.defaultProviderKeyId)
      assert.strictEqual(yield* usual, key.id)
      const second = yield* keys.create(user, given)
      assert.strictEqual(yield* usual, key.id)
      yield* keys.remove(user, key.id)
      assert.isNull(yield* usual)
      yield* keys.create(user, given)
      assert.isNull(yield* usual)
      assert.include(
        (yield* keys.list(user, workspaceId)).map(({ id }) => id),
        second.id
      )
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("makes one of keys that are made at once the default", () =>
    Effect.gen(function* () {
      const { given, keys, user } = yield* makeKey
      const { id: workspaceId } = yield* (yield* Workspaces).create(user, { name: "Second" })
      const made = yield* Effect.all(
        [1, 2, 3].map(() => keys.create(user, { ...given, workspaceId })),
        { concurrency: "unbounded" }
      )
      const { defaultProviderKeyId } = yield* (yield* Workspaces).get(user, workspaceId)
      // Which is the first of those at once depends on whose secret is sealed first.
      assert.include(
        made.map(({ id }) => id),
        defaultProviderKeyId
      )
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lets owners alone make and delete keys, and set those of agents", () =>
    Effect.gen(function* () {
      const { given, key, keys, user, workspaceId } = yield* makeKey
      const { user: member } = yield* makeTenant()
      yield* (yield* WorkspaceRepo).addMember(workspaceId, member.id, "member", new Date(0))
      const agents = yield* Agents
      const refused = [
        keys.create(member, given),
        keys.remove(member, key.id),
        agents.create(member, { workspaceId, name: "A", providerKeyId: key.id })
      ]
      for (const call of refused)
        assert.instanceOf(yield* Effect.flip<unknown, unknown, never>(call), Forbidden)
      assert.deepStrictEqual(yield* keys.list(member, workspaceId), [key])

      const plain = yield* agents.create(member, { workspaceId, name: "A", providerKeyId: null })
      const keyed = yield* agents.create(user, { workspaceId, name: "B", providerKeyId: key.id })
      assert.instanceOf(
        yield* Effect.flip(agents.update(member, plain.id, { providerKeyId: key.id })),
        Forbidden
      )
      assert.instanceOf(
        yield* Effect.flip(agents.update(member, keyed.id, { providerKeyId: null })),
        Forbidden
      )
      const same = yield* agents.update(member, keyed.id, { name: "C", providerKeyId: key.id })
      assert.deepStrictEqual([same.name, same.providerKeyId], ["C", key.id])
      const cleared = yield* agents.update(user, keyed.id, { providerKeyId: null })
      assert.isNull(cleared.providerKeyId)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("shows a stranger nothing", () =>
    Effect.gen(function* () {
      const { given, key, keys, user, workspaceId } = yield* makeKey
      const { user: stranger } = yield* makeTenant()
      assert.instanceOf(yield* Effect.flip(keys.create(stranger, given)), Forbidden)
      assert.instanceOf(yield* Effect.flip(keys.list(stranger, workspaceId)), Forbidden)
      for (const id of [key.id, "pkey_absent" as ProviderKeyId]) {
        const error = yield* Effect.flip(keys.remove(stranger, id))
        assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "provider key not found"])
      }
      assert.deepStrictEqual(yield* keys.list(user, workspaceId), [key])
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("a new provider key", () => {
  const accepts = (given: object) =>
    Schema.decodeUnknownExit(CreateProviderKey)({
      workspaceId: "ws_1",
      name: "n",
      provider: "openai",
      model: "m",
      ...given
    })._tag === "Success"
  it("has a limit of output tokens that a model can have, or none", () => {
    for (const maxOutputTokens of [null, 1, 32_000, 1_000_000]) {
      assert.isTrue(accepts({ maxOutputTokens }), `${maxOutputTokens}`)
    }
    for (const maxOutputTokens of [0, -1, 1.5, 1_000_001, "8192", Number.NaN, {}]) {
      assert.isFalse(accepts({ maxOutputTokens }), `${maxOutputTokens}`)
    }
  })

  it("has one of the known providers, and an address where it needs one", () => {
    for (const provider of ["openai", "anthropic", "google", "offline"]) assert.isTrue(accepts({ provider }))
    assert.isFalse(accepts({ provider: "other" }))
    const provider = "openai-compatible"
    assert.isTrue(accepts({ provider, baseUrl: "http://localhost:11434/v1" }))
    for (const baseUrl of [
      undefined,
      null,
      "",
      "localhost:11434",
      "ftp://x",
      "javascript:alert(1)",
      "http://",
      "http://user@localhost/v1",
      "http://localhost/v1?key=a",
      "http://localhost/v1#a"
    ]) {
      assert.isFalse(accepts(baseUrl === undefined ? { provider } : { provider, baseUrl }), `${baseUrl}`)
    }
  })
})
