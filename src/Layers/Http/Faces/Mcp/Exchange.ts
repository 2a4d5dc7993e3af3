import * as McpSchema from "effect/ai/McpSchema"
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { RunId } from "../../../../Schemas/Ids.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { invalidParams, invalidRequest, objectOr, RpcError, type RpcRequest, textOr } from "./Messages.ts"
import { opaque } from "./Opaque.ts"
import type { Followed } from "./Places.ts"

/** Requests say themselves what their client can; there are no sessions. */
export const modernVersion = "2026-07-28"
/** Begun by `initialize`, the newest first. */
export const legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const
const [latestLegacy] = legacyVersions
/** What a client speaks that does not say so. */
const assumedVersion = "2025-03-26"
export const versions: ReadonlyArray<string> = [modernVersion, ...legacyVersions]

export const tasksExtension = "io.modelcontextprotocol/tasks"
const metaVersion = "io.modelcontextprotocol/protocolVersion"
const metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

export type Headers = Readonly<Record<string, string | undefined>>

/** What is known of a client by the request alone: whichever node it reaches, it is the same. */
export interface Exchange {
  readonly version: string
  readonly isModern: boolean
  /** Whether people can be asked through it, by a form. */
  readonly elicits: boolean
  /** Whether it follows tasks of the protocol. */
  readonly tasks: boolean
  /** Of a client of an older version: the id that it was given. */
  readonly session: string | undefined
}

/** A request, whose it is and of which version. */
export interface Asked {
  readonly caller: Caller
  readonly exchange: Exchange
  readonly headers: Headers
  readonly request: RpcRequest
}

/** What a request is answered: a result, with headers; what a run tells; or what becomes of tasks. */
export type Outcome =
  | { readonly result: Schema.JsonObject; readonly headers?: Readonly<Record<string, string>> }
  | { readonly followed: Followed }
  | { readonly listened: ReadonlyArray<RunId> }

/** The workspace that a client is set up for, if it says so. */
export const headerOf = ({ headers }: Pick<Asked, "headers">): string | undefined => headers["x-workspace-id"]

/** What `initialize` found out, said again with each request. Nothing is kept of it here. */
export const session = opaque(
  Schema.fromJsonString(
    Schema.Struct({ version: Schema.Literals(legacyVersions), elicits: Schema.Boolean, nonce: Schema.String })
  )
)

/** The version that a client is answered with which offers one of its own. */
export const agreedVersion = (offered: unknown): (typeof legacyVersions)[number] =>
  legacyVersions.find((version) => version === offered) ?? latestLegacy

/** Forms came with 2025-06-18; a client that says nothing more of what it can takes forms. */
export const elicitsIn = (capabilities: Schema.Json | undefined, version: string): boolean => {
  const { elicitation } = objectOr(capabilities)
  if (version === assumedVersion || elicitation === undefined) return false
  const said = objectOr(elicitation)
  return said.form !== undefined || Object.keys(said).length === 0
}

const unsupported = (requested: string) =>
  new RpcError({
    code: McpSchema.UNSUPPORTED_PROTOCOL_VERSION_ERROR_CODE,
    message: "Unsupported protocol version",
    data: { supported: versions, requested: requested.slice(0, 100) },
    status: 400
  })

const mismatch = (message: string) =>
  new RpcError({
    code: McpSchema.HEADER_MISMATCH_ERROR_CODE,
    message: `Header mismatch: ${message}`,
    status: 400
  })

/** 400: the request needs something that its client did not say it can. */
export const missingCapability = (requiredCapabilities: Schema.JsonObject) =>
  new RpcError({
    code: -32021,
    message: "Missing required client capability",
    data: { requiredCapabilities },
    status: 400
  })

/** What of a request its `Mcp-Name` repeats. */
const nameKeys: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId"
}

/** A header that says what ASCII can't is base64 of it, marked as such. */
const headerText = (value: string): string | undefined => {
  const [, encoded] = /^=\?base64\?(.*)\?=$/su.exec(value) ?? []
  if (encoded === undefined) return /^[\t\x20-\x7e]*$/u.test(value) ? value : undefined
  return Option.getOrUndefined(Result.getSuccess(Base64.decodeString(encoded)))
}

const modernExchange = (
  headers: Headers,
  { method, params }: RpcRequest
): Result.Result<Exchange, RpcError> => {
  const meta = objectOr(params._meta)
  const claimed = meta[metaVersion]
  const header = headers["mcp-protocol-version"]
  if (header === undefined) return Result.fail(mismatch("MCP-Protocol-Version is required"))
  if (typeof claimed !== "string") return Result.fail(invalidParams(`_meta: ${metaVersion} is required`, 400))
  if (claimed !== header) {
    return Result.fail(mismatch("MCP-Protocol-Version is not the version in _meta of the request"))
  }
  if (claimed !== modernVersion) return Result.fail(unsupported(claimed))
  const capabilities = meta[metaCapabilities]
  if (typeof capabilities !== "object" || capabilities === null) {
    return Result.fail(invalidParams(`_meta: ${metaCapabilities} is required`, 400))
  }
  if (headers["mcp-method"] !== method)
    return Result.fail(mismatch("Mcp-Method is not the method of the request"))
  const key = nameKeys[method]
  const name = headers["mcp-name"]
  if (key !== undefined && (name === undefined || headerText(name) !== params[key])) {
    return Result.fail(mismatch(`Mcp-Name is not params.${key} of the request`))
  }
  return Result.succeed({
    version: modernVersion,
    isModern: true,
    elicits: elicitsIn(capabilities, modernVersion),
    tasks: objectOr(objectOr(capabilities).extensions)[tasksExtension] !== undefined,
    session: undefined
  })
}

/**
 * Of a client of an older version. The id of its session says what it can; 404 for one that nobody has made, at which it
 * begins anew.
 */
export const legacyExchange = (headers: Headers): Result.Result<Exchange, RpcError> => {
  const id = headers["mcp-session-id"]
  const known = id === undefined ? undefined : Option.getOrUndefined(session.read(id))
  if (id !== undefined && known === undefined) {
    return Result.fail(invalidRequest("Mcp-Session-Id: there is no such session", 404))
  }
  const version = headers["mcp-protocol-version"] ?? known?.version ?? assumedVersion
  if (!legacyVersions.some((legacy) => legacy === version)) return Result.fail(unsupported(version))
  return Result.succeed({
    version,
    isModern: false,
    elicits: known?.elicits ?? false,
    tasks: version === latestLegacy,
    session: id
  })
}

/** Which version of the protocol a request is of, and what its client can. */
export const exchangeOf = (headers: Headers, request: RpcRequest): Result.Result<Exchange, RpcError> => {
  const isModern =
    objectOr(request.params._meta)[metaVersion] !== undefined ||
    (request.method !== "initialize" && headers["mcp-protocol-version"] === modernVersion)
  if (isModern) return modernExchange(headers, request)
  if (request.method !== "initialize") return legacyExchange(headers)
  const version = agreedVersion(textOr(request.params.protocolVersion))
  return Result.succeed({
    version,
    isModern: false,
    elicits: elicitsIn(request.params.capabilities, version),
    tasks: version === latestLegacy,
    session: undefined
  })
}
