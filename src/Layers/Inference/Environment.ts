import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { EnvironmentModels } from "../../Schemas/ModelChoice.ts"
import * as ModelList from "../../Schemas/ModelList.ts"
import { Provider } from "../../Schemas/ProviderKey.ts"
import { problemOf } from "../../Schemas/Setting.ts"
import { type SettingName, settings } from "../../Schemas/SettingsTable.ts"

/** What answers when nobody says which model: a current one of middle size. */
const usualModels: ReadonlyMap<Provider, string> = new Map([
  ["openai", "gpt-5-mini"],
  ["anthropic", "claude-sonnet-4-5"],
  ["google", "gemini-2.5-flash"]
])

/** How a provider is reached. */
export interface Access {
  readonly apiKey: Redacted.Redacted | null
  readonly baseUrl: string | null
  /** How many tokens an answer may have; null: what is usual. */
  readonly maxOutputTokens: number | null
}

/** A mistake in the variables of the operator: the start ends with this sentence. */
export class ModelsMisconfigured extends Schema.TaggedError<ModelsMisconfigured>()("ModelsMisconfigured", {
  error: Schema.String
}) {}

/** White space around a value is none of it, and an empty variable is as good as none. */
const word = Effect.fnUntraced(function* (name: SettingName) {
  const value = Option.getOrElse(yield* Config.option(Config.String(name)), () => "").trim()
  const problem = problemOf(settings[name], value)
  if (problem !== undefined) return yield* new ModelsMisconfigured({ error: `${name} ${problem}` })
  return value === "" ? null : value
})

const secret = (name: SettingName) =>
  Effect.map(word(name), (value) => (value === null ? null : Redacted.make(value)))

/**
 * The models of the operator (CONTRACT.md section 1): `openai` with a key or a base URL,
 * `openai-compatible` with a base URL, `anthropic` and `google` with a key. Without
 * `AGENTD_DEFAULT_PROVIDER` the first of openai, anthropic and google that is there is the default.
 */
export const environment = Effect.gen(function* () {
  const limit = yield* word("AGENTD_MAX_OUTPUT_TOKENS")
  const maxOutputTokens = limit === null ? null : Number(limit)
  const openai = {
    apiKey: yield* secret("OPENAI_API_KEY"),
    baseUrl: yield* word("OPENAI_BASE_URL"),
    maxOutputTokens
  }
  const anthropic = {
    apiKey: yield* secret("ANTHROPIC_API_KEY"),
    baseUrl: yield* word("ANTHROPIC_BASE_URL"),
    maxOutputTokens
  }
  const google = { apiKey: yield* secret("GOOGLE_GENERATIVE_AI_API_KEY"), baseUrl: null, maxOutputTokens }
  const access = new Map<Provider, Access>()
  if (openai.apiKey !== null || openai.baseUrl !== null) access.set("openai", openai)
  if (anthropic.apiKey !== null) access.set("anthropic", anthropic)
  if (google.apiKey !== null) access.set("google", google)
  if (openai.baseUrl !== null) access.set("openai-compatible", openai)

  const wanted = yield* word("AGENTD_DEFAULT_PROVIDER")
  const defaultModel = yield* word("AGENTD_DEFAULT_MODEL")
  const known = Provider.literals.find((name) => name === wanted)
  const listed = yield* makeListed(access)
  if (known !== undefined && known !== "offline" && !access.has(known)) {
    const error = `AGENTD_DEFAULT_PROVIDER: ${known} needs ${needs[known]} in this environment`
    return yield* new ModelsMisconfigured({ error })
  }
  const isThere = (provider: Provider) => listed === null || listed.some((one) => one.provider === provider)
  const defaultProvider = known ?? Array.from(access.keys()).find(isThere) ?? null
  const modelOf = (provider: Provider) => {
    const usual = (provider === defaultProvider ? defaultModel : null) ?? usualModels.get(provider) ?? null
    const own = listed?.filter((one) => one.provider === provider).map(({ model }) => model)
    return own === undefined || (usual !== null && own.includes(usual)) ? usual : (own[0] ?? null)
  }
  if (defaultProvider === "openai-compatible" && defaultModel === null) {
    return yield* new ModelsMisconfigured({ error: "AGENTD_DEFAULT_MODEL is needed for openai-compatible" })
  }
  if (defaultProvider !== null && defaultProvider !== "offline" && !isThere(defaultProvider)) {
    return yield* new ModelsMisconfigured({
      error: `AGENTD_MODELS has no model of ${defaultProvider}, the default provider`
    })
  }
  if (defaultProvider !== null && defaultModel !== null && modelOf(defaultProvider) !== defaultModel) {
    return yield* new ModelsMisconfigured({ error: "AGENTD_DEFAULT_MODEL is not in AGENTD_MODELS" })
  }
  const models: EnvironmentModels = {
    models: new Map(Array.from(access.keys(), (provider) => [provider, modelOf(provider)])),
    defaultProvider,
    listed
  }
  return { models, access }
})

/** The list of the operator; each of its providers has to be there. */
const makeListed = Effect.fnUntraced(function* (access: ReadonlyMap<Provider, Access>) {
  const list = yield* word("AGENTD_MODELS")
  const listed = list === null ? undefined : ModelList.parse(list)
  for (const { provider } of listed ?? []) {
    if (provider !== "offline" && !access.has(provider)) {
      const error = `AGENTD_MODELS: ${provider} needs ${needs[provider]} in this environment`
      return yield* new ModelsMisconfigured({ error })
    }
  }
  return listed ?? null
})

const needs = {
  openai: "OPENAI_API_KEY or OPENAI_BASE_URL",
  anthropic: "ANTHROPIC_API_KEY",
  google: "GOOGLE_GENERATIVE_AI_API_KEY",
  "openai-compatible": "OPENAI_BASE_URL"
} as const
