import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as SchemaIssue from "effect/SchemaIssue"
import { errorCodeHeader } from "../../Api/Errors.ts"

const problems: Readonly<Record<number, readonly [code: string, error: string]>> = {
  400: ["invalid_input", "the request could not be read"],
  401: ["unauthenticated", "a valid bearer token or session cookie is required"],
  403: ["forbidden", "this is not allowed"],
  404: ["not_found", "there is nothing at this path"],
  405: ["method_not_allowed", "this path does not take this method"],
  413: ["payload_too_large", "the request body is too large"],
  415: ["unsupported_media_type", "the request body must be application/json in UTF-8"],
  429: ["rate_limited", "too many requests; try again later"],
  503: ["unavailable", "the service can't answer at the moment; try again"]
}
const internalError = ["internal_error", "internal error"] as const

/**
 * The response for a status that no handler gave a body: `{"error"}` and its code, nothing else. `sentence` says
 * more than what can be said of every such response.
 */
export const problemResponse = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  sentence?: string
): HttpServerResponse.HttpServerResponse => {
  const known = problems[status]
  const [code, error] = known ?? internalError
  return HttpServerResponse.jsonUnsafe(
    { error: sentence ?? error },
    {
      status: known === undefined ? 500 : status,
      headers: {
        [errorCodeHeader]: code,
        ...(status === 401 && { "www-authenticate": "Bearer" }),
        ...(status === 413 && { connection: "close" }),
        ...(status === 503 && { "retry-after": "1" }),
        ...headers
      }
    }
  )
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** The first field that is wrong, in a sentence that names it and never repeats its value; none of the whole. */
export const issueSentence = (issue: SchemaIssue.Issue): string | undefined => {
  const [first] = format(issue).issues
  const path = (first?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part))
  return path.length > 0 ? `${path.join(".")}: ${toPredicate(first?.message ?? "is not valid")}` : undefined
}

/** The first thing that is wrong, in the same way. */
export const sentenceOf = ({ cause, kind }: HttpApiSchemaError): string => {
  const sentence = issueSentence(cause.issue)
  if (sentence !== undefined) return sentence
  const [first] = format(cause.issue).issues
  return kind === "Query" ? "query: is not valid" : `body: must be ${describeBody(first?.message)}`
}

const describeBody = (message: string | undefined): string =>
  message?.includes("JSON") ? "valid JSON" : "a JSON object"

const names: Readonly<Record<string, string>> = {
  string: "a string",
  "a string representing a finite number": "a whole number",
  number: "a number",
  "an integer": "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "an array"
}

const toPredicate = (message: string): string => {
  if (message === "Missing key") return "is required"
  const [, expected] = /^Expected (.*)$/su.exec(message) ?? []
  if (expected === undefined) return message
  return `must be ${expected
    .split(" | ")
    .map((name) => names[name] ?? name)
    .join(" or ")}`
}
