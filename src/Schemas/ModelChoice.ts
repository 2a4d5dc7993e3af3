import type { Agent } from "./Agent.ts"
import type { AnsweringModel } from "./AnsweringModel.ts"
import type { ProviderKeyId, WorkspaceId } from "./Ids.ts"
import { type ListedModel, shown } from "./ModelList.ts"
import { Provider, type UsableProviderKey } from "./ProviderKey.ts"

/** Which model a task or chat message wants; null leaves it to what comes next (docs/models.md). */
export interface ModelChoice {
  readonly workspaceId: WorkspaceId
  readonly providerKeyId: ProviderKeyId | null
  readonly provider: string | null
  readonly model: string | null
  readonly agentKeyId: ProviderKeyId | null
}

/** What a request names itself, and what its agent has. */
export const modelChoice = (
  workspaceId: WorkspaceId,
  agent: Agent | null,
  wanted: {
    readonly selectedProvider?: string | null | undefined
    readonly selectedModel?: string | null | undefined
    readonly providerKeyId?: ProviderKeyId | null | undefined
  }
): ModelChoice => ({
  workspaceId,
  providerKeyId: wanted.providerKeyId ?? null,
  provider: wanted.selectedProvider ?? null,
  model: wanted.selectedModel ?? null,
  agentKeyId: agent?.providerKeyId ?? null
})

/** The models of the operator: each provider that has a key, with the model that it answers with. */
export interface EnvironmentModels {
  readonly models: ReadonlyMap<Provider, string | null>
  readonly defaultProvider: Provider | null
  /** What alone is answered with (`AGENTD_MODELS`); null: any. */
  readonly listed: ReadonlyArray<ListedModel> | null
}

export type ChosenModel =
  | { readonly source: "key"; readonly key: UsableProviderKey; readonly model: string }
  | { readonly source: "environment"; readonly provider: Provider; readonly model: string }
  | { readonly source: "offline"; readonly model: string; readonly providerKeyId: ProviderKeyId | null }

/** What is told of it. */
export const answeringModel = (chosen: ChosenModel): AnsweringModel => {
  const { model } = chosen
  switch (chosen.source) {
    case "key":
      return { provider: chosen.key.provider, model, providerKeyId: chosen.key.id }
    case "environment":
      return { provider: chosen.provider, model, providerKeyId: null }
    case "offline":
      return { provider: "offline", model, providerKeyId: chosen.providerKeyId }
  }
}

/**
 * Which model answers, or why none can, as a sentence. In order: the key that the request names; its
 * `selectedProvider` by a key of the workspace (the agent's, the default one, the one with that model, the
 * oldest), else by the operator's; the agent's key; the workspace's default key; the operator's default;
 * `offline`. No key is used because it happens to be there. `selectedModel` replaces the model of what was chosen,
 * unless the request names another provider than its key has. `keys` are those of the workspace, oldest first: no
 * other is looked at.
 */
export const chooseModel = (
  choice: ModelChoice,
  keys: ReadonlyArray<UsableProviderKey>,
  environment: EnvironmentModels
): ChosenModel | string => {
  const keyOf = (id: ProviderKeyId | null) => keys.find((key) => id !== null && key.id === id)
  const agents = keyOf(choice.agentKeyId)
  const usual = keys.find(({ isDefault }) => isDefault)
  const by = (key: UsableProviderKey): ChosenModel => {
    const model =
      choice.provider === null || choice.provider === key.provider ? (choice.model ?? key.model) : key.model
    return key.provider === "offline"
      ? { source: "offline", model, providerKeyId: key.id }
      : { source: "key", key, model }
  }

  const named = keyOf(choice.providerKeyId)
  if (named !== undefined) return by(named)
  if (choice.providerKeyId !== null) return "providerKeyId: this provider key is no longer there"
  if (choice.provider !== null) {
    const having = keys.filter((key) => key.provider === choice.provider)
    const key =
      having.find(({ id }) => id === agents?.id) ??
      having.find(({ isDefault }) => isDefault) ??
      having.find(({ model }) => model === choice.model) ??
      having[0]
    return key === undefined ? operators(choice.provider, choice.model, environment) : by(key)
  }
  const key = agents ?? usual
  if (key !== undefined) return by(key)
  return operators(environment.defaultProvider ?? "offline", choice.model, environment)
}

/**
 * Why the operator's list refuses a choice; undefined: it does not, whatever else may be wrong with it. Said to who
 * chooses, and again to who goes on with a choice of before the list was changed (`chooseModel`).
 */
export const listRefusal = (
  choice: ModelChoice,
  keys: ReadonlyArray<UsableProviderKey>,
  environment: EnvironmentModels
): string | undefined => {
  const chosen = chooseModel(choice, keys, environment)
  const unlisted = chooseModel(choice, keys, { ...environment, listed: null })
  return typeof chosen === "string" && chosen !== unlisted ? chosen : undefined
}

const operators = (
  provider: string,
  wanted: string | null,
  { listed, models }: EnvironmentModels
): ChosenModel | string => {
  if (provider === "offline") {
    return { source: "offline", model: wanted ?? "offline", providerKeyId: null }
  }
  const known = Provider.literals.find((name) => name === provider)
  if (known === undefined) {
    return `selectedProvider: there is no provider ${provider}; there are ${Provider.literals.join(", ")}`
  }
  if (!models.has(known)) return `selectedProvider: there is no provider key for ${provider}`
  const model = wanted ?? models.get(known) ?? null
  if (listed !== null && !listed.some((one) => one.provider === known && one.model === model)) {
    const field = wanted === null ? "selectedProvider" : "selectedModel"
    return `${field}: without a provider key of the workspace there are ${listed.map(shown).join(", ")}`
  }
  return model === null
    ? `selectedModel: is needed for ${provider}`
    : { source: "environment", provider: known, model }
}
