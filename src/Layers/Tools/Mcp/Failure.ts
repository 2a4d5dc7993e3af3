import * as Schema from "effect/Schema"
import { type ConnectorProblem, ConnectorProblemCode } from "../../../Schemas/ConnectorHealth.ts"

/** Why a server did not do what it was asked, in words that hold no secret. */
export class McpFailure extends Schema.TaggedError<McpFailure>()("McpFailure", {
  error: Schema.String,
  reason: Schema.Literals([
    /** No connection, or none that leads to a working server. */
    "unreachable",
    /** The guard of outgoing requests does not let the address be connected to. */
    "refused",
    "unauthorized",
    /** The server knows our session no longer; it has not done what was asked. */
    "session",
    /** It does not go on with what we began; whether it has done what was asked is not certain. */
    "stale",
    "timeout",
    /** It was reached, and its answer is none, cut off, too large or not understood. */
    "answer"
  ]),
  /** The server has certainly not got what it was to do: there was no connection to send it over. */
  isUnsent: Schema.Boolean,
  /** Where it is more than the reason says. */
  code: Schema.optionalKey(ConnectorProblemCode)
}) {}

const codes = {
  unreachable: "unreachable",
  refused: "address_not_allowed",
  unauthorized: "unauthorized",
  session: "bad_answer",
  stale: "bad_answer",
  timeout: "timeout",
  answer: "bad_answer"
} as const

/** What callers are told of a connector whose server failed so. */
export const problemOf = ({ code, error, reason }: McpFailure): ConnectorProblem => ({
  code: code ?? codes[reason],
  message: error
})

/** Whether the connector is at fault: it could not be reached or signed in to. */
export const isUnhealthy = ({ reason }: McpFailure): boolean =>
  reason === "unreachable" || reason === "refused" || reason === "unauthorized"

/** Nothing was sent over a connection that did not come about. */
export const unsent = ({ code, error, reason }: McpFailure) =>
  new McpFailure({ error, reason, isUnsent: true, ...(code !== undefined && { code }) })

/** The server took longer than it may. */
export const late = (millis: number) =>
  new McpFailure({
    reason: "unreachable",
    error: `the server did not answer within ${millis / 1000} s`,
    isUnsent: false,
    code: "timeout"
  })
