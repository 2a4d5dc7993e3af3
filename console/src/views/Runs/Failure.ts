import type { RunStatus } from "../../../../src/Schemas/Run.ts"

/** What can be done about a run that has failed. */
export interface Advice {
  readonly sentence: string
  /** The view where it is done, if it is not a retry alone. */
  readonly view?: { readonly path: string; readonly label: string }
  /** Whether a retry may help without anything else having been done first. */
  readonly isRetryUseful: boolean
}

const models = { path: "models", label: "Models" }
const connectors = { path: "connectors", label: "Connectors" }
const settings = { path: "settings", label: "Settings" }

const goesOn = "A retry goes on behind the last finished step."

const retry = (sentence: string): Advice => ({ sentence, isRetryUseful: true })
const first = (view: Advice["view"] & {}, sentence: string): Advice => ({
  sentence,
  view,
  isRetryUseful: false
})

/** By the word for programs that a run ends with (docs/runs.md, docs/models.md). */
const advices: Readonly<Record<string, Advice>> = {
  inference_authentication: first(models, `The provider does not take this key: set another one. ${goesOn}`),
  inference_permission: first(
    models,
    `The key may not use this model: choose another key or model. ${goesOn}`
  ),
  inference_not_found: first(models, `The provider has no such model: choose another one. ${goesOn}`),
  inference_bad_request: first(models, `Check the model and the limits of the provider key. ${goesOn}`),
  inference_quota_exceeded: first(
    models,
    `The provider's account is used up: top it up or use another key. ${goesOn}`
  ),
  inference_rate_limited: retry(`The provider wanted fewer requests: try again in a while. ${goesOn}`),
  inference_overloaded: retry(`The provider had trouble of its own: try again in a while. ${goesOn}`),
  inference_unreachable: {
    ...first(models, `Check the address of the provider key. ${goesOn}`),
    isRetryUseful: true
  },
  inference_timeout: retry(`The provider fell silent. ${goesOn}`),
  inference_context_length: {
    sentence: "There is more to read than the model can: use a model with more room, or a smaller task.",
    isRetryUseful: false
  },
  inference_content_filter: {
    sentence: "The provider refused the content: say it differently in a new task.",
    isRetryUseful: false
  },
  inference_truncated: {
    ...first(
      models,
      "A retry asks for the answer that was cut off anew; a higher limit of output tokens may help."
    ),
    isRetryUseful: true
  },
  inference_unknown: retry(`The provider answered what can't be read. ${goesOn}`),
  model_time_exceeded: retry(`The model took too long. ${goesOn}`),
  tool_time_exceeded: { ...first(connectors, `The tool took too long. ${goesOn}`), isRetryUseful: true },
  tool_unavailable: first(connectors, `Check the connector of this tool. ${goesOn}`),
  output_exceeded: retry("The answer was too long. A retry asks for it anew."),
  run_time_exceeded: retry(
    "It has worked as long as a run may. A retry goes on, with all of that time anew."
  ),
  steps_exceeded: {
    sentence: "It has had as many steps as a run may. A retry fails again unless that limit is raised.",
    isRetryUseful: false
  },
  budget_exceeded: first(settings, `Raise the budget, or wait for the next month. ${goesOn}`),
  approval_expired: retry("Nobody decided in time. A retry asks anew; what was decided already stays."),
  worker_lost: retry(`It was under way each time its node was lost, or it is what ends its node. ${goesOn}`),
  invalid_output: retry("The answer was not in the form that was asked for. A retry asks for it anew."),
  internal_error: retry(`The log of the service says more. ${goesOn}`),
  cancelled: retry(goesOn)
}

/** What can be done about how a run ended; undefined where it did not go wrong. */
export const adviceOf = (status: RunStatus, code: string | undefined): Advice | undefined => {
  if (status === "CANCELLED") return advices.cancelled
  if (status !== "FAILED") return undefined
  return (code === undefined ? undefined : advices[code]) ?? retry(goesOn)
}

/** A sentence as people begin and end it, unless it begins with the name of a field. */
export const sentenceOf = (error: string): string => {
  const trimmed = error.trim()
  if (trimmed === "") return "It failed."
  const isField = /^\w+:/u.test(trimmed)
  const begun = isField ? trimmed : `${trimmed.slice(0, 1).toUpperCase()}${trimmed.slice(1)}`
  return /[.!?…]$/u.test(begun) ? begun : `${begun}.`
}
