import * as Schema from "effect/Schema"
import { ConnectorStatus, type StoredConnector } from "./Connector.ts"
import { storableText } from "./Json.ts"
import { cut } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** Why a connector can't be used, in a word for programs. */
export const ConnectorProblemCode = Schema.Literals([
  /** No connection, or whoever is there says that the server is away. */
  "unreachable",
  "timeout",
  /** The credential was not accepted. */
  "unauthorized",
  /** The guard of outgoing requests does not connect there. */
  "address_not_allowed",
  /** Somebody answers there, but not as an MCP server. */
  "not_mcp",
  /** An MCP server that does not list its tools: its answer is an error, cut off, too large or not understood. */
  "bad_answer",
  /** What is stored leads nowhere: no address, or headers that can't be sent. */
  "misconfigured",
  /** What is sealed can't be opened with the keys that there are. */
  "secret_unreadable",
  /** It works, and the plan has no room for one more that is ACTIVE. */
  "plan_limit"
])
export type ConnectorProblemCode = typeof ConnectorProblemCode.Type

/** The same as a sentence without a secret. */
export const ConnectorProblem = Schema.Struct({ code: ConnectorProblemCode, message: Schema.String })
export type ConnectorProblem = typeof ConnectorProblem.Type

/** What a server says of itself; the version is that of the protocol which is spoken with it. */
export const ServerInfo = Schema.Struct({
  serverName: Schema.NullOr(Schema.String),
  serverVersion: Schema.NullOr(Schema.String),
  protocolVersion: Schema.NullOr(Schema.String)
})
export type ServerInfo = typeof ServerInfo.Type

export const unknownServer: ServerInfo = { serverName: null, serverVersion: null, protocolVersion: null }

/** What the last use has shown; of a failure with the server as it was when it last worked. */
export const StoredHealth = Schema.Struct({
  checkedAt: Timestamp,
  error: Schema.NullOr(ConnectorProblem),
  ...ServerInfo.fields
})
export type StoredHealth = typeof StoredHealth.Type

/** CONTRACT.md section 13. All but the status is null of one that was never used, or brings no tools. */
export const ConnectorHealth = Schema.Struct({
  status: ConnectorStatus,
  checkedAt: Schema.NullOr(Timestamp),
  error: Schema.NullOr(ConnectorProblem),
  ...ServerInfo.fields
}).annotate({ identifier: "ConnectorHealth" })
export type ConnectorHealth = typeof ConnectorHealth.Type

/** A tool as its server describes it now, and the name that a model of its workspace and project knows it by. */
export const ConnectorTool = Schema.Struct({
  name: Schema.String,
  originalName: Schema.String,
  description: Schema.String,
  /** As autonomy has it (CONTRACT.md section 5): never both. */
  readOnly: Schema.Boolean,
  destructive: Schema.Boolean,
  inputSchema: Schema.JsonObject
}).annotate({ identifier: "ConnectorTool" })
export type ConnectorTool = typeof ConnectorTool.Type

export const ConnectorTools = Schema.Struct({
  ...ConnectorHealth.fields,
  tools: Schema.Array(ConnectorTool)
}).annotate({ identifier: "ConnectorTools" })
export type ConnectorTools = typeof ConnectorTools.Type

export const toHealth = (
  { status }: Pick<StoredConnector, "status">,
  stored: StoredHealth | undefined
): ConnectorHealth => ({ status, checkedAt: null, error: null, ...unknownServer, ...stored })

/** What a use has shown of a connector: its server, or why there is none. */
export type Shown =
  | { readonly error: null; readonly server: ServerInfo }
  | { readonly error: ConnectorProblem }

const longestMessage = 1_000

export const healthOf = (shown: Shown, checkedAt: Date): StoredHealth => ({
  checkedAt,
  ...(shown.error === null
    ? { error: null, ...shown.server }
    : {
        error: { ...shown.error, message: cut(storableText(shown.error.message), longestMessage) },
        ...unknownServer
      })
})
