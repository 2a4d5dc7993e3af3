import * as Schema from "effect/Schema"
import { ProviderKeyId, WorkspaceId } from "./Ids.ts"
import { Pricing } from "./Pricing.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** What an agent shows of the key that it infers with (specification, Agent). */
export const ProviderKeySummary = Schema.Struct({
  id: ProviderKeyId,
  name: Schema.String,
  provider: Schema.String,
  model: Schema.String
})
export type ProviderKeySummary = typeof ProviderKeySummary.Type

/** CONTRACT.md section 8. `openai-compatible` needs a `baseUrl`: Ollama, vLLM, LM Studio … */
export const Provider = Schema.Literals(["openai", "anthropic", "google", "openai-compatible", "offline"])
export type Provider = typeof Provider.Type

const name = text(1, 100)
const model = text(1, 200)

/** Paths are put behind it. */
const BaseUrl = text(1, 2000).check(
  Schema.makeFilter((value: string) =>
    isBaseUrl(value) && !/[?#]/.test(value)
      ? undefined
      : "must be an http or https address without a user name, query or fragment"
  )
)

/** Whether requests can be sent to it: what is secret about it belongs into the key. */
export const isBaseUrl = (value: string): boolean => {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false
  const { password, username } = new URL(value)
  return username === "" && password === ""
}

/** What a header can carry; anything else would be refused only when it is used. */
export const isApiKey = (value: string): boolean => /^[\x21-\x7e]+$/.test(value)

const ApiKey = text(1, 1000).check(
  Schema.makeFilter((value: string) =>
    isApiKey(value) ? undefined : "must be visible ASCII characters without white space"
  )
)

export const mostOutputTokens = 1_000_000

export const isOutputLimit = (value: number): boolean =>
  Number.isInteger(value) && value >= 1 && value <= mostOutputTokens

const MaxOutputTokens = Schema.Int.check(
  Schema.makeFilter(
    (value: number) => (isOutputLimit(value) ? undefined : `must be 1 to ${mostOutputTokens}`),
    { toJsonSchema: () => ({ minimum: 1, maximum: mostOutputTokens }) }
  )
)

/** A key of an inference provider as callers see it: the key itself is never returned. */
export const ProviderKey = Schema.Struct({
  id: ProviderKeyId,
  workspaceId: WorkspaceId,
  name: Schema.String,
  provider: Provider,
  model: Schema.String,
  baseUrl: Schema.NullOr(Schema.String),
  /** How many tokens an answer may have; null: what is usual for the model. */
  maxOutputTokens: Schema.NullOr(Schema.Int),
  hasApiKey: Schema.Boolean,
  /** What its tokens cost; null: what public lists say of the model (docs/models.md). */
  pricing: Schema.NullOr(Pricing),
  createdAt: Timestamp
}).annotate({ identifier: "ProviderKey" })
export type ProviderKey = typeof ProviderKey.Type

export const CreateProviderKey = Schema.Struct({
  workspaceId: WorkspaceId,
  name,
  provider: Provider,
  model,
  apiKey: Schema.optionalKey(Schema.NullOr(ApiKey)),
  baseUrl: Schema.optionalKey(Schema.NullOr(BaseUrl)),
  maxOutputTokens: Schema.optionalKey(Schema.NullOr(MaxOutputTokens)),
  pricing: Schema.optionalKey(Schema.NullOr(Pricing))
})
  .check(
    Schema.makeFilter((input: { readonly provider: Provider; readonly baseUrl?: string | null }) =>
      input.provider === "openai-compatible" && input.baseUrl == null
        ? { path: ["baseUrl"], issue: "is required for openai-compatible" }
        : undefined
    )
  )
  .annotate({ identifier: "CreateProviderKey" })
export type CreateProviderKey = typeof CreateProviderKey.Type

/** All else of a key is as it was made: what it is for does not change under those that name it. */
export const UpdateProviderKey = Schema.Struct({
  pricing: Schema.optionalKey(Schema.NullOr(Pricing))
}).annotate({ identifier: "UpdateProviderKey" })
export type UpdateProviderKey = typeof UpdateProviderKey.Type

/** A key as it is stored: sealed. */
export const StoredProviderKey = Schema.Struct({
  ...ProviderKey.fields,
  sealedApiKey: Schema.NullOr(Schema.String)
})
export type StoredProviderKey = typeof StoredProviderKey.Type

/** A key with which a request of its workspace may be answered. */
export const UsableProviderKey = Schema.Struct({
  ...StoredProviderKey.fields,
  /** What answers where nobody names a key (CONTRACT.md section 8). */
  isDefault: Schema.Boolean
})
export type UsableProviderKey = typeof UsableProviderKey.Type

export const toProviderKey = ({ sealedApiKey: _, ...key }: StoredProviderKey): ProviderKey => key
