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
  if (code === undefined || !isOfOpenAi(url) || response.body._tag !== "Uint8Array") return response
  const { error } = JSON.parse(new TextDecoder().decode(response.body.body))
  const { "content-length": _, ...headers } = response.headers
  return HttpServerResponse.jsonUnsafe(
    { error: problemOf(response.status, code, error) },
    { status: response.status, headers: { ...headers, ...neverAgain(code) } }
  )
}

/** As the router reads the address: in any case, with letters escaped. */
const isOfOpenAi = (url: string): boolean => /^\/+(v|%[57]6)(1|%31)([/?;#]|$)/iu.test(url)

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
