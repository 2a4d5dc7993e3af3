import type { Pricing } from "../../../../src/Schemas/Pricing.ts"
import type { CreateProviderKey, Provider } from "../../../../src/Schemas/ProviderKey.ts"

/** What a form says of a provider key. */
export interface Entered {
  readonly name: string
  readonly provider: Provider
  readonly model: string
  readonly apiKey: string
  readonly baseUrl: string
  readonly maxOutputTokens: string
}

/** Prices as they were typed, in US dollars per million tokens. */
export interface Prices {
  readonly input: string
  readonly cached: string
  readonly output: string
}

export const noKey: Entered = {
  name: "",
  provider: "openai",
  model: "",
  apiKey: "",
  baseUrl: "",
  maxOutputTokens: ""
}

export const noPrices: Prices = { input: "", cached: "", output: "" }

export const pricesOf = (pricing: Pricing | null): Prices =>
  pricing === null
    ? noPrices
    : {
        input: String(pricing.inputPerMillion),
        cached: pricing.cachedInputPerMillion === undefined ? "" : String(pricing.cachedInputPerMillion),
        output: String(pricing.outputPerMillion)
      }

/** The prices that were typed; null of none, and a sentence where one is missing. */
export const pricingOf = ({ cached, input, output }: Prices): Pricing | null | string => {
  if ([input, cached, output].every((each) => each.trim() === "")) return null
  if (input.trim() === "" || output.trim() === "") {
    return "pricing: say what input and output cost, or neither"
  }
  const numbers = [input, cached === "" ? "0" : cached, output].map(Number)
  if (numbers.some((each) => !Number.isFinite(each))) return "pricing: must be numbers"
  const [inputPerMillion = 0, cachedInputPerMillion = 0, outputPerMillion = 0] = numbers
  return {
    inputPerMillion,
    outputPerMillion,
    ...(cached.trim() !== "" && { cachedInputPerMillion })
  }
}

/** What is sent to make a key: without what was left empty. */
export const payloadOf = (entered: Entered): Omit<CreateProviderKey, "workspaceId"> => {
  const { apiKey, baseUrl, maxOutputTokens, model, name, provider } = entered
  return {
    name,
    provider,
    model: model.trim(),
    ...(apiKey.trim() !== "" && { apiKey: apiKey.trim() }),
    ...(baseUrl.trim() !== "" && { baseUrl: baseUrl.trim() }),
    ...(maxOutputTokens.trim() !== "" && { maxOutputTokens: Number(maxOutputTokens) })
  }
}
