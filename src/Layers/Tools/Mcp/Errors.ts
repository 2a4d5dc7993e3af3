import type { HttpError, McpClientError } from "effect/ai/McpClientError"
import { refusalOf } from "../../../Schemas/Outbound.ts"
import { cut } from "../../../Schemas/Text.ts"
import { McpFailure } from "./Failure.ts"

const longestDescription = 1_000

/**
 * What an error of the client means. The words of the server are kept where the model needs them (its
 * answer to a call), without what `scrub` takes out; those of the machine below never are.
 */
export const failureOf = (error: McpClientError, scrub: (text: string) => string): McpFailure => {
  const { reason } = error
  const said = (fallback: string, description?: string) =>
    new McpFailure({
      reason: "answer",
      error:
        description === undefined || description === ""
          ? fallback
          : `${fallback}: ${cut(scrub(description), longestDescription)}`
    })
  switch (reason._tag) {
    case "TransportError": {
      const refusal = refusalOf(error)
      if (refusal !== undefined) return new McpFailure({ reason: "refused", error: refusal.error })
      return isUnsent(reason.description)
        ? new McpFailure({ reason: "unreachable", error: "the server could not be reached" })
        : said("the connection to the server was cut before it had answered")
    }
    case "HttpError":
      return ofStatus(reason, said)
    case "ClosedError":
      return reason.sessionExpired === true
        ? new McpFailure({ reason: "session", error: "the server has ended the session" })
        : said("the connection to the server was closed")
    case "ProtocolError":
      return reason.code === undefined
        ? said("the server gave an answer that is no MCP")
        : said("the server refused the request", reason.description)
    case "TimeoutError":
      return new McpFailure({ reason: "timeout", error: "the server did not answer in time" })
    case "LimitError":
      return said("the answer of the server is too large")
    case "UnsupportedError":
      return said("the server asks for something that is not supported")
    default:
      return said("the answer of the server can't be read")
  }
}

/** The client names what it was doing; nothing was answered to a request that failed as a whole. */
const isUnsent = (description: string | undefined): boolean => description === "MCP HTTP request failed"

/** What servers say of a session, or a protocol of one, that they do not have (any more). */
const sessionWords = /session|not initialized|protocol.version/iu

/** JSON-RPC: no such method, no such tool; said with a 404 by some servers, and not about the session. */
const notFoundCodes: ReadonlyArray<number | undefined> = [-32601, -32602]

const ofStatus = (
  { code, description, status }: HttpError,
  said: (fallback: string, description?: string) => McpFailure
): McpFailure => {
  if (status === 401 || status === 403) {
    return new McpFailure({
      reason: "unauthorized",
      error: `the server did not accept the credential (HTTP ${status})`
    })
  }
  const isAbsent = status === 404 && !notFoundCodes.includes(code)
  if (isAbsent || (status === 400 && sessionWords.test(description ?? ""))) {
    return new McpFailure({ reason: "session", error: `the server has no such session (HTTP ${status})` })
  }
  if (status === 502 || status === 503 || status === 504) {
    return new McpFailure({ reason: "unreachable", error: `the server is not available (HTTP ${status})` })
  }
  return said(`the server answered HTTP ${status}`, description)
}

/**
 * Whether another version of the protocol may work where this one failed to begin: the server was reached
 * and did not understand. Not when it refuses us, asks us to wait or is broken.
 */
export const isOtherVersion = ({ reason }: McpClientError): boolean => {
  switch (reason._tag) {
    case "HttpError":
      return reason.status >= 400 && reason.status < 500 && ![401, 403, 408, 429].includes(reason.status)
    case "ProtocolError":
    case "UnsupportedError":
    case "ValidationError":
      return true
    default:
      return false
  }
}
