import * as Schema from "effect/Schema"
import { unknown, unsupported } from "./Fields.ts"

/** An error as OpenAI's clients read it: `param` is the field at fault, `code` a word for programs. */
export const Problem = Schema.Struct({
  message: Schema.String,
  type: Schema.String,
  param: Schema.NullOr(Schema.String),
  code: Schema.NullOr(Schema.String)
})
export type Problem = typeof Problem.Type

/** OpenAI's own words for what it has some for, by ours; every other code stays what `X-Error-Code` says. */
const words: Readonly<Record<string, readonly [code: string, type?: string]>> = {
  unauthenticated: ["invalid_api_key"],
  budget_exceeded: ["insufficient_quota", "insufficient_quota"],
  plan_limit_exceeded: ["insufficient_quota", "insufficient_quota"],
  rate_limited: ["rate_limit_exceeded", "rate_limit_error"],
  inference_rate_limited: ["rate_limit_exceeded", "rate_limit_error"],
  inference_quota_exceeded: ["insufficient_quota", "insufficient_quota"],
  inference_context_length: ["context_length_exceeded"],
  inference_content_filter: ["content_filter"]
}

/** The error of a refused request, or of a turn that failed: `code` is our word for it, `error` the sentence. */
export const problemOf = (status: number, code: string, error: string): Problem => {
  const param = /^([\w.[\]-]{1,200}): /u.exec(error)?.[1] ?? null
  const [word, type] = words[code] ?? [code]
  return {
    message: error,
    type: type ?? typeOf(status),
    param,
    code: codeOfParam(status, param, error) ?? word
  }
}

const codeOfParam = (status: number, param: string | null, error: string): string | undefined => {
  if (param === null) return undefined
  if (status === 404) return param === "model" ? "model_not_found" : undefined
  if (status !== 400) return undefined
  const what = error.slice(param.length + 2)
  if (what === unknown) return "unknown_parameter"
  if (what.startsWith(unsupported)) return "unsupported_parameter"
  return what === "is required" ? "missing_required_parameter" : undefined
}

const typeOf = (status: number): string => {
  if (status >= 500) return "server_error"
  if (status === 403) return "permission_error"
  return status === 429 ? "rate_limit_error" : "invalid_request_error"
}

/**
 * With which status a turn that failed by this code answers who waits for it. A model that refuses what it was asked is the
 * request's fault (400); all others are ours.
 */
export const statusOfFailure = (code: string): number => statuses[code] ?? 500

const statuses: Readonly<Record<string, number>> = {
  inference_bad_request: 400,
  inference_context_length: 400,
  inference_content_filter: 400,
  inference_rate_limited: 429,
  inference_quota_exceeded: 429,
  inference_overloaded: 503,
  inference_unreachable: 502,
  inference_timeout: 504,
  budget_exceeded: 403,
  forbidden: 403,
  conversation_deleted: 404,
  cancelled: 409,
  unavailable: 503
}
