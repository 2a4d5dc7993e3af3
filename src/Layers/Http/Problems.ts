import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as SchemaIssue from "effect/SchemaIssue"
import { errorCodeHeader } from "../../Api/Errors.ts"

const problems: Readonly<Record<number, readonly [code: string, error: string]>> = {
  400: ["invalid_input", "the request could not be read"],
  401: ["unauthenticated", "a valid bearer token or session cookie is required"],
  404: ["not_found", "there is nothing at this path"],
  405: ["method_not_allowed", "this path does not take this method"],
  413: ["payload_too_large", "the request body is larger than 1 MiB"],
  415: ["unsupported_media_type", "the request body must be application/json"],
  503: ["unavailable", "the service can't answer at the moment; try again"]
}
const internalError = ["internal_error", "internal error"] as const

/** The response for a status that no handler gave a body: `{"error"}` and its code, nothing else. */
export const problemResponse = (
  status: number,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => {
  const known = problems[status]
  const [code, error] = known ?? internalError
  return HttpServerResponse.jsonUnsafe(
    { error },
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

/** The first thing that is wrong, in a sentence that names the field and never repeats its value. */
export const sentenceOf = ({ cause, kind }: HttpApiSchemaError): string => {
  const [first] = format(cause.issue).issues
  const path = (first?.path ?? []).map((part) => String(typeof part === "object" ? part.key : part))
  const field = path.length > 0 ? path.join(".") : kind === "Query" ? "query" : "body"
  return `${field}: ${toPredicate(first?.message ?? "is not valid")}`
}

const toPredicate = (message: string): string =>
  message === "Missing key" ? "is required" : message.replace(/^Expected (a |an )?/u, "must be $1")
