import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { errorCodeHeader } from "../../Api/Errors.ts"
import { problemOf } from "../../Schemas/OpenAi/Problem.ts"

/**
 * A problem in the form of the protocol that is spoken at the address (CONTRACT.md section 14): at the very end, so that
 * everything that refuses has it. `X-Error-Code` stays our own word for it.
 */
export const inItsForm = (
  url: string,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const code = response.headers[errorCodeHeader]
  const form = formOf(url)
  if (code === undefined || form === undefined || response.body._tag !== "Uint8Array") return response
  const { error } = JSON.parse(new TextDecoder().decode(response.body.body))
  // What the face says itself has its form already.
  if (typeof error !== "string") return response
  const { "content-length": _, ...headers } = response.headers
  return HttpServerResponse.jsonUnsafe(form.body(error, response.status, code), {
    status: response.status,
    headers: { ...headers, ...form.headers(code) }
  })
}

interface Form {
  readonly body: (message: string, status: number, code: string) => object
  readonly headers: (code: string) => Readonly<Record<string, string>>
}

const formOf = (url: string): Form | undefined => (isOfOpenAi(url) ? openAi : isOfMcp(url) ? mcp : undefined)

/** As the router reads the address: in any case, with letters escaped. */
const isOfOpenAi = (url: string): boolean => /^\/+(v|%[57]6)(1|%31)([/?;#]|$)/iu.test(url)

const isOfMcp = (url: string): boolean => /^\/+(m|%[46]d)(c|%[46]3)(p|%[57]0)([/?;#]|$)/iu.test(url)

/**
 * OpenAI's own clients ask again after each 409, 429 and 5xx, unless they are told that it is of no use: then they would
 * get the same, or pay for the same again.
 */
const neverAgain = (code: string) => (lasting.has(code) ? { "x-should-retry": "false" } : {})

const lasting = new Set([
  "agent_inactive",
  "approval_expired",
  "cancelled",
  "idempotency_conflict",
  "inference_authentication",
  "inference_not_found",
  "inference_permission",
  "inference_quota_exceeded",
  "invalid_output",
  "model_time_exceeded",
  "output_exceeded",
  "steps_exceeded",
  "tool_time_exceeded",
  "tool_unavailable",
  "worker_lost"
])

const openAi: Form = {
  body: (message, status, code) => ({ error: problemOf(status, code, message) }),
  headers: neverAgain
}

/** An error of JSON-RPC without an id: of which request it is need not be known. */
const mcp: Form = {
  body: (message, status, code) => ({
    jsonrpc: "2.0",
    error: { code: status >= 500 ? -32603 : -32600, message, data: { code } }
  }),
  headers: () => ({})
}
