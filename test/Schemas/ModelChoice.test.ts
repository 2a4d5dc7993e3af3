import { assert, describe, it } from "@effect/vitest"
import type { ProviderKeyId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import {
  answeringModel,
  chooseModel,
  type EnvironmentModels,
  listRefusal,
  type ModelChoice
} from "../../src/Schemas/ModelChoice.ts"
import type { Provider, UsableProviderKey } from "../../src/Schemas/ProviderKey.ts"

const workspaceId = "ws_1" as WorkspaceId

const key = (id: string, provider: Provider, model: string): UsableProviderKey => ({
  id: id as ProviderKeyId,
  workspaceId,
  name: id,
  provider,
  model,
  baseUrl: null,
  maxOutputTokens: null,
  pricing: null,
  hasApiKey: true,
  sealedApiKey: "sealed",
  isDefault: id === "default",
  createdAt: new Date(0)
})

const keys = [
  key("claude", "anthropic", "claude"),
  key("default", "openai", "gpt"),
  key("opus", "anthropic", "opus"),
  key("script", "offline", "script")
]
const none: EnvironmentModels = { models: new Map(), defaultProvider: null, listed: null }
const operator: EnvironmentModels = {
  models: new Map<Provider, string | null>([
    ["openai", "gpt-operator"],
    ["google", "gemini-operator"],
    ["openai-compatible", null]
  ]),
  defaultProvider: "google",
  listed: null
}

const choose = (
  wanted: Partial<Record<"providerKeyId" | "provider" | "model" | "agentKeyId", string>>,
  having: ReadonlyArray<UsableProviderKey>,
  environment: EnvironmentModels
) => {
  const choice: ModelChoice = {
    workspaceId,
    providerKeyId: (wanted.providerKeyId ?? null) as ProviderKeyId | null,
    provider: wanted.provider ?? null,
    model: wanted.model ?? null,
    agentKeyId: (wanted.agentKeyId ?? null) as ProviderKeyId | null
  }
  const chosen = chooseModel(choice, having, environment)
  if (typeof chosen === "string") return chosen
  const from =
    chosen.source === "key"
      ? chosen.key.id
      : chosen.source === "environment"
        ? `env ${chosen.provider}`
        : "offline"
  return `${from}: ${chosen.model}`
}

describe("which model answers", () => {
  const rows: ReadonlyArray<
    readonly [string, Parameters<typeof choose>[0], typeof keys, EnvironmentModels, string]
  > = [
    ["nothing at all", {}, [], none, "offline: offline"],
    ["the operator's default", {}, [], operator, "env google: gemini-operator"],
    ["a key of the workspace before the operator", {}, keys, operator, "default: gpt"],
    ["no key because it is there", {}, keys.slice(0, 1), operator, "env google: gemini-operator"],
    ["no key because it is there, nor another", {}, keys.slice(0, 1), none, "offline: offline"],
    ["the agent's key before the default", { agentKeyId: "claude" }, keys, operator, "claude: claude"],
    [
      "the request's key before the agent's",
      { providerKeyId: "opus", agentKeyId: "claude" },
      keys,
      operator,
      "opus: opus"
    ],
    [
      "a model for the request's key",
      { providerKeyId: "opus", model: "haiku" },
      keys,
      operator,
      "opus: haiku"
    ],
    [
      "a key of another provider than selected keeps its own model",
      { providerKeyId: "opus", provider: "openai", model: "gpt-9" },
      keys,
      operator,
      "opus: opus"
    ],
    ["a selected provider by the oldest key", { provider: "anthropic" }, keys, operator, "claude: claude"],
    [
      "a selected provider by the key with that model",
      { provider: "anthropic", model: "opus" },
      keys,
      operator,
      "opus: opus"
    ],
    [
      "a selected provider by the agent's key",
      { provider: "anthropic", agentKeyId: "opus" },
      keys,
      operator,
      "opus: opus"
    ],
    [
      "the default key before one with that model",
      { provider: "openai", model: "mini" },
      [key("mini", "openai", "mini"), ...keys],
      operator,
      "default: mini"
    ],
    [
      "a selected provider of the operator",
      { provider: "google", agentKeyId: "claude" },
      keys,
      operator,
      "env google: gemini-operator"
    ],
    [
      "a selected model of the operator's provider",
      { provider: "google", model: "pro" },
      keys,
      operator,
      "env google: pro"
    ],
    [
      "a selected model alone, for the agent's key",
      { model: "m", agentKeyId: "claude" },
      keys,
      none,
      "claude: m"
    ],
    ["a selected model alone, for the operator's", { model: "m" }, [], operator, "env google: m"],
    [
      "offline when selected, whatever else is there",
      { provider: "offline" },
      keys.slice(0, 2),
      operator,
      "offline: offline"
    ],
    ["a key of the offline provider", { providerKeyId: "script" }, keys, operator, "offline: script"],
    [
      "no key for the selected provider",
      { provider: "google" },
      keys,
      none,
      "selectedProvider: there is no provider key for google"
    ],
    [
      "no such provider",
      { provider: "mistral" },
      keys,
      operator,
      "selectedProvider: there is no provider mistral; there are openai, anthropic, google, openai-compatible, offline"
    ],
    [
      "a provider of the operator without a usual model",
      { provider: "openai-compatible" },
      [],
      operator,
      "selectedModel: is needed for openai-compatible"
    ],
    [
      "a key that is gone is not replaced by another",
      { providerKeyId: "gone" },
      keys,
      operator,
      "providerKeyId: this provider key is no longer there"
    ],
    [
      "an agent's key that is gone leaves it to the default",
      { agentKeyId: "gone" },
      keys,
      operator,
      "default: gpt"
    ]
  ]

  for (const [name, wanted, having, environment, expected] of rows) {
    it(name, () => assert.strictEqual(choose(wanted, having, environment), expected))
  }

  it("is told by provider, model and the key of the workspace, if it is one", () => {
    const told = (wanted: Partial<ModelChoice>) => {
      const choice = { workspaceId, providerKeyId: null, provider: null, model: null, agentKeyId: null }
      const chosen = chooseModel({ ...choice, ...wanted }, keys, operator)
      return typeof chosen === "string" ? chosen : answeringModel(chosen)
    }
    assert.deepStrictEqual(
      [
        told({ model: "o9" }),
        told({ provider: "google" }),
        told({ provider: "offline" }),
        told({ providerKeyId: "script" as ProviderKeyId })
      ],
      [
        { provider: "openai", model: "o9", providerKeyId: "default" as ProviderKeyId },
        { provider: "google", model: "gemini-operator", providerKeyId: null },
        { provider: "offline", model: "script", providerKeyId: "script" as ProviderKeyId },
        { provider: "offline", model: "script", providerKeyId: "script" as ProviderKeyId }
      ]
    )
    const nothing = { workspaceId, providerKeyId: null, provider: null, model: null, agentKeyId: null }
    const chosen = chooseModel(nothing, [], none)
    assert.deepStrictEqual(typeof chosen === "string" ? chosen : answeringModel(chosen), {
      provider: "offline",
      model: "offline",
      providerKeyId: null
    })
  })
})

describe("the operator's list of models", () => {
  const listing: EnvironmentModels = {
    ...operator,
    models: new Map<Provider, string | null>([
      ["openai", null],
      ["google", "gemini-a"]
    ]),
    listed: [
      { provider: "google", model: "gemini-a" },
      { provider: "google", model: "gemini-b" }
    ]
  }
  const there = "without a provider key of the workspace there are gemini-a (google), gemini-b (google)"

  for (const [wanted, having, expected] of [
    [{}, [], "env google: gemini-a"],
    [{ model: "gemini-b" }, [], "env google: gemini-b"],
    [{ provider: "google", model: "gemini-b" }, [], "env google: gemini-b"],
    [{ model: "gemini-c" }, [], `selectedModel: ${there}`],
    [{ model: "GEMINI-B" }, [], `selectedModel: ${there}`],
    [{ provider: "google", model: "models/gemini-b" }, [], `selectedModel: ${there}`],
    [{ provider: "openai", model: "gemini-b" }, [], `selectedModel: ${there}`],
    [{ provider: "openai" }, [], `selectedProvider: ${there}`],
    [{ provider: "offline", model: "any" }, [], "offline: any"],
    [{ model: "any" }, keys, "default: any"],
    [{ provider: "anthropic", model: "any" }, keys, "claude: any"],
    [{ providerKeyId: "opus", model: "any" }, keys, "opus: any"],
    [{ provider: "google", model: "any" }, keys, `selectedModel: ${there}`]
  ] as const) {
    it(`lets ${JSON.stringify(wanted)} be answered so, of ${having.length} keys: ${expected}`, () => {
      assert.strictEqual(choose(wanted, having, listing), expected)
    })
  }

  it("refuses what it does not have, and says nothing of what else is wrong", () => {
    const choice = { workspaceId, providerKeyId: null, provider: null, model: null, agentKeyId: null }
    const refused = (wanted: Partial<ModelChoice>, environment = listing) =>
      listRefusal({ ...choice, ...wanted }, [], environment)
    assert.strictEqual(refused({ model: "x" }), `selectedModel: ${there}`)
    assert.strictEqual(refused({ provider: "openai" }), `selectedProvider: ${there}`)
    assert.isUndefined(refused({ model: "gemini-b" }))
    assert.isUndefined(refused({ provider: "anthropic" }))
    assert.isUndefined(refused({ providerKeyId: "gone" as ProviderKeyId }))
    assert.isUndefined(refused({ model: "x" }, operator))
  })
})
