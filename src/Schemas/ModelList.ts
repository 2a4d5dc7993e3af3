import { Provider } from "./ProviderKey.ts"

/** A model that the operator lets workspaces use with the keys of the environment. */
export interface ListedModel {
  readonly provider: Provider
  readonly model: string
}

const mostModels = 100
const longestModel = 200

/** What has keys: `offline` costs nobody anything and is always there. */
const isKeyed = (name: string): name is Provider =>
  name !== "offline" && Provider.literals.some((provider) => provider === name)

/** `openai/gpt-5-mini, openai-compatible/meta/llama-4`, at most 100: what stands before the first `/` is the provider. */
export const parse = (list: string): ReadonlyArray<ListedModel> | undefined => {
  const names = list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
  const models = names.flatMap((name): ReadonlyArray<ListedModel> => {
    const [provider = "", ...rest] = name.split("/")
    const model = rest.join("/")
    return isKeyed(provider) && model !== "" && model.length <= longestModel ? [{ provider, model }] : []
  })
  return models.length === names.length && models.length > 0 && models.length <= mostModels
    ? models
    : undefined
}

/** What is wrong with such a list, as a predicate that never repeats it. */
export const problemOf = (list: string): string | undefined =>
  parse(list) === undefined
    ? `must be up to ${mostModels} models like openai/gpt-5-mini, separated by commas`
    : undefined

/** In words, the model as `selectedModel` takes it. */
export const shown = ({ model, provider }: ListedModel): string => `${model} (${provider})`
