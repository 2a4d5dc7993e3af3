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
  const form = code === undefined ? undefined : forms.find(({ place }) => place.test(url))
  if (code === undefined || form === undefined || response.body._tag !== "Uint8Array") return response
  const { error } = JSON.parse(new TextDecoder().decode(response.body.body))
  // What the face says itself has its form already.
  if (typeof error !== "string") return response
  const { "content-length": _, "content-type": __, ...headers } = response.headers
  return form.response({ code, error, status: response.status, headers })
}

interface Problem {
  readonly code: string
  readonly error: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

interface Form {
  /** As the router reads the address: in any case, with letters escaped. */
  readonly place: RegExp
  readonly response: (problem: Problem) => HttpServerResponse.HttpServerResponse
}

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

const forms: ReadonlyArray<Form> = [
  {
    place: /^\/+(v|%[57]6)(1|%31)([/?;#]|$)/iu,
    response: ({ code, error, headers, status }) =>
      HttpServerResponse.jsonUnsafe(
        { error: problemOf(status, code, error) },
        { status, headers: { ...headers, ...neverAgain(code) } }
      )
  },
  {
    place: /^\/+(a|%[46]1)(p|%[57]0)(i|%[46]9)\/+(u|%[57]5)(i|%[46]9)([/?;#]|$)/iu,
    // What `useChat` shows as its error is the body as it is.
    response: ({ error, headers: { "content-type": _, ...headers }, status }) =>
      HttpServerResponse.text(error, { status, headers })
  },
  {
    place: /^\/+(m|%[46]d)(c|%[46]3)(p|%[57]0)([/?;#]|$)/iu,
    // An error of JSON-RPC without an id: of which request it is need not be known.
    response: ({ code, error, headers, status }) =>
      HttpServerResponse.jsonUnsafe(
        {
          jsonrpc: "2.0",
          error: { code: status >= 500 ? -32603 : -32600, message: error, data: { code } }
        },
        { status, headers }
      )
  }
]
