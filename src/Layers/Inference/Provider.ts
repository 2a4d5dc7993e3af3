import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Redacted from "effect/Redacted"
import type { Provider } from "../../Schemas/ProviderKey.ts"
import type { Dialect } from "../../Schemas/WireName.ts"
import { extractor } from "./Compatible.ts"
import type { Access } from "./Environment.ts"

/** A model of a provider over the network, and the way to it. */
export interface Connection extends Access {
  readonly provider: Exclude<Provider, "offline">
  readonly model: string
  readonly fetch: typeof globalThis.fetch
}

/** Where each provider answers when nobody says otherwise. */
const homes = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta"
} as const

/** The version path of each protocol, for base URLs that are a host alone. */
const versions = { openai: "/v1", anthropic: "/v1", google: "/v1beta", "openai-compatible": "/v1" } as const

/** Where it is asked. */
export const baseUrlOf = ({ baseUrl, provider }: Connection): string => {
  if (baseUrl === null) return provider === "openai-compatible" ? "" : homes[provider]
  const trimmed = baseUrl.replace(/\/+$/u, "")
  return new URL(trimmed).pathname === "/" ? `${trimmed}${versions[provider]}` : trimmed
}

/**
 * Which protocol a provider is spoken to in. At an address that is not OpenAI's own, `openai` is what servers speak
 * that are compatible with it; they ask for no key where there is none, which the package of OpenAI does not bear.
 */
export const dialectOf = ({ baseUrl, provider }: Pick<Connection, "baseUrl" | "provider">): Dialect =>
  provider === "openai" && baseUrl !== null && !/(^|\.)api\.openai\.com$/u.test(new URL(baseUrl).hostname)
    ? "openai-compatible"
    : provider

/** What the package asks of models that it does not know would cut most of their answers: 4,096 tokens. */
const mostOfUnknown = 32_000

/** How many tokens an answer may have; null leaves it to the package and the provider. */
export const outputLimitOf = ({ maxOutputTokens, model, provider }: Connection): number | null =>
  maxOutputTokens ?? (provider === "anthropic" && !model.includes("claude-") ? mostOfUnknown : null)

/** OpenAI's thinking models have another name for the limit, also behind a gateway. */
const isOpenAiThinking = (model: string): boolean => /(^|\/)(o\d|gpt-5)/u.test(model)

/**
 * Loads the package of the provider on first use. Key and base URL are always given: left out, the packages
 * would take them from the environment of the process, which may be somebody else's.
 */
export const languageModel = async (connection: Connection): Promise<LanguageModelV4> => {
  const { fetch, model } = connection
  const apiKey = connection.apiKey === null ? "" : Redacted.value(connection.apiKey)
  const baseURL = baseUrlOf(connection)
  switch (dialectOf(connection)) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai")
      return createOpenAI({ apiKey, baseURL, fetch }).responses(model)
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic")
      return createAnthropic({ apiKey, baseURL, fetch }).languageModel(model)
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google")
      return createGoogle({ apiKey, baseURL, fetch }).languageModel(model)
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible")
      return createOpenAICompatible({
        name: "openai-compatible",
        baseURL,
        fetch,
        includeUsage: true,
        supportsStructuredOutputs: true,
        metadataExtractor: extractor,
        transformRequestBody: ({ max_tokens, ...body }) =>
          max_tokens === undefined
            ? body
            : { ...body, [isOpenAiThinking(model) ? "max_completion_tokens" : "max_tokens"]: max_tokens },
        ...(apiKey !== "" && { apiKey })
      }).languageModel(model)
    }
  }
}
