import type { ChosenModel } from "./ModelChoice.ts"
import { priceList } from "./PriceList.ts"
import { free, type Pricing } from "./Pricing.ts"
import type { Provider, StoredProviderKey } from "./ProviderKey.ts"

/** What names of one model differ in: when it was made, or that it is the newest of its name. */
const edition = /-(latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|\d{3})$/u

const prices = new Map(
  Object.entries(priceList).flatMap(([provider, listed]) =>
    listed.flatMap(([inputPerMillion, cached, outputPerMillion, names]) => {
      const pricing: Pricing = {
        inputPerMillion,
        ...(cached !== null && { cachedInputPerMillion: cached }),
        outputPerMillion
      }
      return names.split(" ").map((name) => [`${provider}/${name}`, pricing] as const)
    })
  )
)

/**
 * The public list price of a model, by its name, else by its name without a date, a short number or `-latest` at its end.
 * Undefined where the table has neither: a name is never taken for the one that it begins with.
 */
export const listedPricing = (provider: Provider, model: string): Pricing | undefined => {
  const name = model
    .trim()
    .toLowerCase()
    .replace(/^models\//u, "")
  return prices.get(`${provider}/${name}`) ?? prices.get(`${provider}/${name.replace(edition, "")}`)
}

/**
 * What the tokens of a chosen model cost (docs/models.md); null: that is not known. The price of the key is that of its
 * model, and of others that have no list price; what people run themselves is free where nobody says otherwise.
 */
export const pricingOf = (chosen: ChosenModel, keys: ReadonlyArray<StoredProviderKey>): Pricing | null => {
  const key =
    chosen.source === "key"
      ? chosen.key
      : chosen.source === "offline"
        ? keys.find(({ id }) => id === chosen.providerKeyId)
        : undefined
  const provider = chosen.source === "environment" ? chosen.provider : (key?.provider ?? "offline")
  const own = key?.pricing ?? null
  if (own !== null && key?.model === chosen.model) return own
  const usual = provider === "openai-compatible" || provider === "offline" ? free : null
  return listedPricing(provider, chosen.model) ?? own ?? usual
}
