import type { HttpError, McpClientError } from "effect/ai/McpClientError"
import * as Predicate from "effect/Predicate"
import { refusalOf } from "../../../Schemas/Outbound.ts"
import type { Scrub } from "../../../Schemas/Scrub.ts"
import { cut } from "../../../Schemas/Text.ts"
import { McpFailure } from "./Failure.ts"

const longestDescription = 1_000

/**
 * What an error of the client means. The words of the server are kept where the model needs them (its
 * answer to a call), without what `scrub` takes out; those of the machine below never are. Only where a
 * session is in use (the request named one) can it be lost.
 */
export const failureOf = (
  error: McpClientError,
  { hasSession, scrub }: { readonly hasSession: boolean; readonly scrub: Scrub }
): McpFailure => {
  const { reason } = error
  const said = (fallback: string, description?: string) =>
    broken(
      "answer",
      description === undefined || description === ""
        ? fallback
        : `${fallback}: ${cut(scrub(description), longestDescription)}`
    )
  switch (reason._tag) {
    case "TransportError": {
      const refusal = refusalOf(error)
      if (refusal !== undefined) {
        const told = scrub(refusal.error)
        return refusal.isAway === true
          ? new McpFailure({
              reason: "unreachable",
              error: told,
              isUnsent: true,
              code: "address_not_allowed"
            })
          : broken("refused", told)
      }
      return hasFailedWhole(reason.description)
        ? new McpFailure({
            reason: "unreachable",
            error: "the server could not be reached",
            isUnsent: isUnconnected(error)
          })
        : said("the connection to the server was cut before it had answered")
    }
    case "HttpError":
      return ofStatus(reason, hasSession, said)
    case "ClosedError":
      return reason.sessionExpired === true
        ? broken("session", "the server has ended the session")
        : said("the connection to the server was closed")
    case "ProtocolError":
      return reason.code === undefined
        ? broken("answer", "the server gave an answer that is no MCP", "not_mcp")
        : said("the server refused the request", reason.description)
    case "TimeoutError":
      return broken("timeout", "the server did not answer in time")
    case "LimitError":
      return said("the answer of the server is too large")
    case "UnsupportedError":
      return said("the server asks for something that is not supported")
    default:
      return said("the answer of the server can't be read")
  }
}

/** Whether it was done all the same is not certain. */
const broken = (reason: McpFailure["reason"], error: string, code?: McpFailure["code"]) =>
  new McpFailure({ reason, error, isUnsent: false, ...(code !== undefined && { code }) })

/** The client names what it was doing; nothing was answered to a request that failed as a whole. */
const hasFailedWhole = (description: string | undefined): boolean => description === "MCP HTTP request failed"

/**
 * Whether there was no connection to send a request over, so that it can't have been done: the name was not found, or
 * nobody answered at any of its addresses. A connection that was cut is not that.
 */
export const isUnconnected = (failure: unknown): boolean => {
  let cause = failure
  for (let depth = 0; depth < 10 && Predicate.isObject(cause); depth++) {
    if ("errors" in cause && Array.isArray(cause.errors) && cause.errors.length > 0) {
      return cause.errors.every(isUnconnected)
    }
    if ("syscall" in cause && (cause.syscall === "connect" || cause.syscall === "getaddrinfo")) return true
    if ("code" in cause && cause.code === "UND_ERR_CONNECT_TIMEOUT") return true
    cause = "cause" in cause ? cause.cause : "reason" in cause ? cause.reason : undefined
  }
  return false
}

/** What servers say of a session, or a protocol of one, that they do not have (any more). */
const sessionWords = /\bsession(?:.?id)?\b|not initialized|protocol.version/iu

/**
 * JSON-RPC: no such method, wrong arguments, an error inside. They are about the request and not the session,
 * whatever the words; and after the last one it may have been done.
 */
const requestCodes: ReadonlyArray<number | undefined> = [-32601, -32602, -32603]

const ofStatus = (
  { code, description, status }: HttpError,
  hasSession: boolean,
  said: (fallback: string, description?: string) => McpFailure
): McpFailure => {
  if (status === 401 || status === 403) {
    return new McpFailure({
      reason: "unauthorized",
      error: `the server did not accept the credential (HTTP ${status})`,
      // Nobody has signed in; who may not do this one thing has.
      isUnsent: status === 401
    })
  }
  // A 404 in a session is told as a closed connection.
  if (status === 404 && code === undefined) {
    return broken("unreachable", "there is no MCP server at this address", "not_mcp")
  }
  if (status === 400 && !requestCodes.includes(code) && sessionWords.test(description ?? "")) {
    return hasSession
      ? broken("session", `the server has no such session (HTTP ${status})`)
      : broken("stale", said(`the server answered HTTP ${status}`, description).error)
  }
  if (status === 502 || status === 503 || status === 504) {
    return broken("unreachable", `the server is not available (HTTP ${status})`)
  }
  const answered = said(`the server answered HTTP ${status}`, description)
  // What takes no POST there.
  return status === 405 && code === undefined ? broken("answer", answered.error, "not_mcp") : answered
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
