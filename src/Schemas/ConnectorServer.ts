import * as Schema from "effect/Schema"
import { ConnectorCredential, type ConnectorMetadata, type StoredConnector } from "./Connector.ts"
import type { ConnectorProblem } from "./ConnectorHealth.ts"
import { registryEntry } from "./ConnectorRegistry.ts"
import type { RunPolicy } from "./Policy.ts"

/** The MCP server of a connector, with all that a request to it carries. The headers are secret. */
export interface ConnectorServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** What a connector stands for: a server, nothing that has tools, or something that can't be used. */
export type ConnectorTarget =
  | { readonly kind: "server"; readonly server: ConnectorServer }
  | { readonly kind: "none" }
  | { readonly kind: "unusable"; readonly error: ConnectorProblem }

/**
 * Whether the tools of a connector belong into a scope. Never those that are switched off; ones in ERROR
 * do, so that they can recover. With `connectorIds`, exactly those. Else a scope within a project has the
 * connectors of the project and of no project, and a scope without one those of no project: what was made
 * for one project is not shown outside of it. A policy only takes away.
 */
export const inScope = (
  connector: Pick<StoredConnector, "id" | "projectId" | "status">,
  scope: {
    readonly projectId: string | null
    readonly connectorIds: ReadonlyArray<string> | null
    readonly policy: Pick<RunPolicy, "connectorIds"> | null
  }
): boolean => {
  if (connector.status === "INACTIVE") return false
  if (scope.policy?.connectorIds?.includes(connector.id) === false) return false
  if (scope.connectorIds !== null) return scope.connectorIds.includes(connector.id)
  return connector.projectId === null || connector.projectId === scope.projectId
}

/**
 * Where a connector leads. One of type `mcp` leads to its `metadata.url`. One of a provider that is known
 * to have an MCP server leads there (or to its `metadata.url`), once it holds a credential. Others bring no
 * tools. No error repeats a value, only names.
 */
export const targetOf = (
  connector: Pick<StoredConnector, "type" | "providerId" | "metadata">,
  credential: ConnectorCredential | undefined
): ConnectorTarget => {
  const entry = registryEntry(connector.providerId)
  const known = entry?.kind === "mcp" ? entry.mcpUrl : undefined
  const { headers: given, url: own } = connector.metadata
  const isOwn = connector.type === "mcp" && (own !== undefined || known === undefined)
  if (!isOwn && (known === undefined || credential === undefined)) return { kind: "none" }
  try {
    const url = urlOf(own ?? known)
    return { kind: "server", server: { url, headers: { ...headersOf(given), ...signIn(credential) } } }
  } catch (problem) {
    if (problem instanceof Unusable) {
      return { kind: "unusable", error: { code: "misconfigured", message: problem.message } }
    }
    throw problem
  }
}

const isCredential = Schema.is(ConnectorCredential)

/**
 * Why a connector could never be used with this metadata, as it is given (CONTRACT.md section 7): one of type `mcp` has
 * an address, or a provider whose address is known, and of any that leads to a server, what is sent there can be.
 */
export const serverProblem = (
  { providerId, type }: Pick<StoredConnector, "type" | "providerId">,
  metadata: ConnectorMetadata
): string | undefined => {
  const { credential, ...rest } = metadata
  if (type === "mcp" && rest.command !== undefined) {
    return (
      "metadata.command: servers that speak stdio are not started here; serve it as streamable HTTP, for example " +
      "with mcp-proxy, and give the address as metadata.url"
    )
  }
  if (type === "mcp" && rest.url === undefined && registryEntry(providerId)?.mcpUrl === undefined) {
    return "metadata.url: is required for type mcp: the address of its server (streamable HTTP)"
  }
  const given = isCredential(credential) ? credential : undefined
  const target = targetOf({ type, providerId, metadata: rest }, given)
  return target.kind === "unusable" ? target.error.message : undefined
}

/** The row that sealed headers are bound to, so that they can't be taken for a credential. */
export const headersRow = (id: string): string => `${id}/headers`

class Unusable extends Error {}

const urlOf = (given: unknown): string => {
  const url = typeof given === "string" ? URL.parse(given) : null
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new Unusable("metadata.url: must be an http or https address")
  }
  if (url.username !== "" || url.password !== "") {
    throw new Unusable("metadata.url: must not contain a user name or password")
  }
  url.hash = ""
  return url.href
}

const headersOf = (given: unknown): Record<string, string> => {
  if (given === undefined || given === null) return {}
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new Unusable("metadata.headers: must be an object of strings")
  }
  return Object.fromEntries(Object.entries(given).map((entry) => header("metadata.headers", entry)))
}

const tokenNames = ["token", "access_token", "apiKey", "api_key"] as const

/** One string is a bearer token; of several, one that is called a token is it, else each is a header. */
const signIn = (credential: ConnectorCredential | undefined): Record<string, string> => {
  if (credential === undefined) return {}
  if (typeof credential === "string") return bearer(credential)
  const name = tokenNames.find((candidate) => Object.hasOwn(credential, candidate))
  const token = name === undefined ? undefined : credential[name]
  if (token !== undefined) return bearer(token)
  return Object.fromEntries(Object.entries(credential).map((entry) => header("metadata.credential", entry)))
}

const bearer = (token: string): Record<string, string> =>
  Object.fromEntries([
    header("metadata.credential", ["authorization", `Bearer ${token.trim().replace(/^bearer\s+/iu, "")}`])
  ])

/** Of one connection (RFC 9110, 7.6.1), or set by the client itself. */
const reserved: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "expect",
  "content-length",
  "content-type",
  "accept",
  "mcp-session-id",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name"
])

const header = (place: string, [name, value]: readonly [string, unknown]): readonly [string, string] => {
  const key = name.toLowerCase()
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]{1,100}$/u.test(key) || reserved.has(key)) {
    throw new Unusable(`${place}: can't be sent under this name: ${JSON.stringify(name.slice(0, 100))}`)
  }
  if (typeof value !== "string" || !/^[\t\x20-\x7e\x80-\xff]*$/u.test(value)) {
    throw new Unusable(
      `${place}: ${key} can't be sent as a header: no line break, control character or letter beyond Latin-1 can`
    )
  }
  return [key, value.trim()]
}
