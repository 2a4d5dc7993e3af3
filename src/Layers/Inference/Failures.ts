import { InferenceError } from "../../Schemas/Inference.ts"
import { storableText } from "../../Schemas/Json.ts"
import { refusalOf } from "../../Schemas/Outbound.ts"
import type { Scrub } from "../../Schemas/Scrub.ts"
import { isTooLarge, tooLarge } from "./Metered.ts"

/** What a failed request means, and whether asking again may help. */
export interface Failure {
  readonly error: InferenceError
  readonly isRetryable: boolean
  /** How long the provider asked to wait, in milliseconds. */
  readonly retryAfterMillis: number | null
  /** The model surely never had the question: there was no connection, or the provider refused the request. */
  readonly isUnasked?: boolean
}

/** What is known around a failure: whether anything was told before, and what must not be said. */
export interface FailureContext {
  readonly hasBegun: boolean
  readonly now: number
  readonly scrub: Scrub
}

type Reason = InferenceError["reason"]

const said = 300

/**
 * The meaning of whatever a provider package threw or sent. Of the raw error, which carries the prompt and
 * the headers, only the provider's own sentence is taken over, without the key, and not where keys are
 * what it is about.
 */
export const failureOf = (raw: unknown, { hasBegun, now, scrub }: FailureContext): Failure => {
  const refusal = refusalOf(raw)
  if (refusal !== undefined) {
    const told = finally_(
      refusal.isAway === true ? "unreachable" : "bad_request",
      scrub(`baseUrl: ${refusal.error}`)
    )
    return { ...told, isRetryable: refusal.isAway === true, isUnasked: true }
  }
  if (isTooLarge(raw)) return finally_("unknown", tooLarge)
  const { body, headers, message, name, status, type } = read(raw)
  const reason = reasonOf(status, `${body} ${message} ${type}`, name, hasBegun)
  const words = quote(sentenceOf(body) ?? message, scrub)
  const detail = isQuoted(reason) && words !== "" ? `: ${words}` : ""
  return {
    error: new InferenceError({ reason, error: `${sentences[reason]}${detail}` }),
    isRetryable: reason === "rate_limited" || reason === "overloaded" || reason === "unreachable",
    retryAfterMillis: retryAfter(headers, now) ?? retryDelay(body),
    isUnasked: isRefusal(raw) || isUnconnected(raw)
  }
}

/** An answer of the provider that it does not take the request, and no gateway's that it heard no end of it. */
const isRefusal = (raw: unknown): boolean => {
  const status =
    typeof raw === "object" && raw !== null && "statusCode" in raw ? Number(raw.statusCode) : Number.NaN
  return (status >= 400 && status < 500 && status !== 408) || status === 503 || status === 529
}

const unconnected: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT"
])

const isUnconnected = (raw: unknown): boolean => {
  let cause = raw
  for (let depth = 0; depth < 10 && typeof cause === "object" && cause !== null; depth++) {
    if ("code" in cause && unconnected.has(cause.code)) return true
    cause = "cause" in cause ? cause.cause : undefined
  }
  return false
}

/** Not about keys, and not what can't be read: that may repeat the prompt. */
const isQuoted = (reason: Reason): boolean => reason !== "authentication" && reason !== "unknown"

/** A failure that asking again does not cure. */
export const finally_ = (reason: Reason, error: string): Failure => ({
  error: new InferenceError({ reason, error }),
  isRetryable: false,
  retryAfterMillis: null
})

const sentences: Readonly<Record<Reason, string>> = {
  authentication: "the model provider did not accept the API key",
  permission: "the model provider does not allow this",
  not_found: "the model provider does not know this model",
  bad_request: "the model provider refused the request",
  rate_limited: "the model provider asks to slow down",
  quota_exceeded: "the quota at the model provider is used up",
  overloaded: "the model provider has trouble answering",
  unreachable: "the model provider can't be reached",
  context_length: "the conversation is longer than the model can read",
  content_filter: "the content filter of the model provider stopped the answer",
  truncated: "the answer of the model was cut off",
  timeout: "the model provider stopped sending",
  unknown: "the model provider answered with something that can't be read"
}

const reasonOf = (status: number | undefined, text: string, name: string, hasBegun: boolean): Reason => {
  if (isOutOfQuota(status, text)) return "quota_exceeded"
  if (/context_length_exceeded|maximum context length|prompt is too long|input token count/iu.test(text)) {
    return "context_length"
  }
  if (/content_filter|content_policy|PROHIBITED_CONTENT/u.test(text)) return "content_filter"
  if (/API key not valid|invalid_api_key|API_KEY_INVALID/u.test(text)) return "authentication"
  // What is sent in a stream that began well has no status of its own.
  if (status === undefined && /rate_?limit/iu.test(text)) return "rate_limited"
  if (status === undefined && /server_error|overloaded_error|api_error/u.test(text)) return "overloaded"
  if (status === undefined || status < 300) return brokenStream(status, name, hasBegun)
  return reasons.get(status) ?? (status >= 500 ? "overloaded" : "bad_request")
}

/** By what each provider says for good of its account, not for the moment. */
const isOutOfQuota = (status: number | undefined, text: string): boolean =>
  /\binsufficient_quota\b/u.test(text) ||
  (status === 400 && /credit balance is too low/iu.test(text)) ||
  (status === 429 && /"quotaId"\s*:\s*"[^"]*PerDay/u.test(text))

const reasons: ReadonlyMap<number, Reason> = new Map([
  [401, "authentication"],
  [402, "quota_exceeded"],
  [403, "permission"],
  [404, "not_found"],
  [408, "overloaded"],
  [410, "not_found"],
  [413, "context_length"],
  [429, "rate_limited"]
])

/** No connection, or one that broke: what was sent until then decides what it means. */
const brokenStream = (status: number | undefined, name: string, hasBegun: boolean): Reason => {
  if (/JSONParse|TypeValidation/u.test(name)) return "unknown"
  if (hasBegun) return "truncated"
  const isNetwork = status !== undefined || /APICallError|TypeError/u.test(name)
  return isNetwork && !/InvalidResponse/u.test(name) ? "unreachable" : "unknown"
}

const read = (raw: unknown) => {
  const fields: Readonly<Record<string, unknown>> = typeof raw === "object" && raw !== null ? { ...raw } : {}
  const own = raw instanceof Error ? { name: raw.name, message: raw.message } : { name: "", message: "" }
  const cause = raw instanceof Error && raw.cause instanceof Error ? raw.cause.name : ""
  return {
    name: `${own.name} ${cause}`,
    message:
      typeof raw === "string" ? raw : typeof fields.message === "string" ? fields.message : own.message,
    type: `${fields.type ?? ""} ${fields.code ?? ""}`,
    status: typeof fields.statusCode === "number" ? fields.statusCode : statusWithin(own.message),
    headers: (fields.responseHeaders ?? {}) as Readonly<Record<string, string | undefined>>,
    body: typeof fields.responseBody === "string" ? fields.responseBody.slice(0, 10_000) : ""
  }
}

/** Gemini says in the stream what went wrong, which its package takes for a part that it does not know. */
const statusWithin = (message: string): number | undefined => {
  const [, code] = /^Type validation failed: Value: \{"error":\{"code":(\d{3})\b/u.exec(message) ?? []
  return code === undefined ? undefined : Number(code)
}

/** `{"error":{"message":…}}`, as every protocol here has it, or what servers that only resemble them say. */
const sentenceOf = (body: string): string | undefined => {
  for (const name of ["message", "error", "detail"]) {
    const [, sentence] = new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`, "u").exec(body) ?? []
    try {
      if (sentence !== undefined) return String(JSON.parse(sentence))
    } catch {
      // Not JSON after all.
    }
  }
  return undefined
}

const quote = (text: string, scrub: Scrub): string => {
  const clean = scrub(storableText(text.replace(/\s+/gu, " ").trim()))
  return clean.length > said ? `${clean.slice(0, said)}…` : clean
}

/** Gemini says it in the body: `"retryDelay": "26s"`. */
const retryDelay = (body: string): number | null => {
  const [, seconds] = /"retryDelay"\s*:\s*"([\d.]+)s"/u.exec(body) ?? []
  return seconds === undefined ? null : Number(seconds) * 1000
}

/** `retry-after-ms`, `retry-after` in seconds or as a date. */
const retryAfter = (headers: Readonly<Record<string, string | undefined>>, now: number): number | null => {
  const millis = Number(headers["retry-after-ms"] ?? Number.NaN)
  if (Number.isFinite(millis)) return Math.max(0, millis)
  const value = headers["retry-after"]
  if (value === undefined) return null
  const seconds = Number(value)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - now
  return Number.isFinite(wait) ? Math.max(0, wait) : null
}
