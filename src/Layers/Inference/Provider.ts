import type { LanguageModelV4 } from "@ai-sdk/provider"
import * as Redacted from "effect/Redacted"
import type { Provider } from "../../Schemas/ProviderKey.ts"
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

const baseUrlOf = ({ baseUrl, provider }: Connection): string => {
  if (baseUrl === null) return provider === "openai-compatible" ? "" : homes[provider]
  const trimmed = baseUrl.replace(/\/+$/u, "")
  return new URL(trimmed).pathname === "/" ? `${trimmed}${versions[provider]}` : trimmed
}

/**
 * Loads the package of the provider on first use. Key and base URL are always given: left out, the packages
 * would take them from the environment of the process, which may be somebody else's.
 */
export const languageModel = async (connection: Connection): Promise<LanguageModelV4> => {
  const { fetch, model, provider } = connection
  const apiKey = connection.apiKey === null ? "" : Redacted.value(connection.apiKey)
  const baseURL = baseUrlOf(connection)
  // Without a key the header is left out, which the package of OpenAI does not do.
  switch (provider === "openai" && apiKey === "" ? "openai-compatible" : provider) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai")
      return createOpenAI({ apiKey, baseURL, fetch }).chat(model)
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
        ...(apiKey !== "" && { apiKey })
      }).languageModel(model)
    }
  }
}
