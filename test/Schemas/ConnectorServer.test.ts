import { assert, describe, it } from "@effect/vitest"
import type { ConnectorCredential } from "../../src/Schemas/Connector.ts"
import { inScope, targetOf } from "../../src/Schemas/ConnectorServer.ts"
import type { ConnectorId, ProjectId } from "../../src/Schemas/Ids.ts"

type Given = Parameters<typeof targetOf>[0]

const target = (given: Partial<Given>, credential?: ConnectorCredential) =>
  targetOf({ type: null, providerId: null, metadata: {}, ...given }, credential)

const url = "https://example.org/mcp"
const mcp = (metadata: Given["metadata"], credential?: ConnectorCredential) =>
  target({ type: "mcp", metadata: { url, ...metadata } }, credential)

const headersOf = (found: ReturnType<typeof target>) =>
  found.kind === "server" ? found.server.headers : found

const errorOf = (found: ReturnType<typeof target>) =>
  found.kind === "unusable" ? found.error.message : found

describe("targetOf", () => {
  it("is the server at the address of a connector of type mcp", () => {
    assert.deepStrictEqual(mcp({}), { kind: "server", server: { url, headers: {} } })
    assert.deepStrictEqual(mcp({ url: "http://example.org:8080/a?b=c#d", headers: { "X-Team": " a " } }), {
      kind: "server",
      server: { url: "http://example.org:8080/a?b=c", headers: { "x-team": "a" } }
    })
  })

  it("signs in with one credential as a bearer token, or with several as they are named", () => {
    const bearer = { authorization: "Bearer s3cret" }
    assert.deepStrictEqual(headersOf(mcp({}, "s3cret")), bearer)
    assert.deepStrictEqual(headersOf(mcp({}, "Bearer s3cret")), bearer)
    for (const name of ["token", "access_token", "apiKey", "api_key"]) {
      assert.deepStrictEqual(headersOf(mcp({}, { [name]: "s3cret", refresh: "x" })), bearer)
    }
    assert.deepStrictEqual(headersOf(mcp({}, { "X-API-Key": "s3cret", "x-user": "me" })), {
      "x-api-key": "s3cret",
      "x-user": "me"
    })
    assert.deepStrictEqual(headersOf(mcp({ headers: { Authorization: "Basic x", a: "b" } }, "s3cret")), {
      ...bearer,
      a: "b"
    })
  })

  it("is that of a known provider, once there is a credential", () => {
    const github = { providerId: "github" }
    const server = (at: string): ReturnType<typeof target> => ({
      kind: "server",
      server: { url: at, headers: { authorization: "Bearer s3cret" } }
    })
    const known = "https://api.githubcopilot.com/mcp/"
    assert.deepStrictEqual(target(github), { kind: "none" })
    assert.deepStrictEqual(target({ ...github, type: "mcp" }), { kind: "none" })
    assert.deepStrictEqual(target(github, "s3cret"), server(known))
    assert.deepStrictEqual(target({ ...github, type: "mcp" }, "s3cret"), server(known))
    assert.deepStrictEqual(target({ ...github, metadata: { url } }, "s3cret"), server(url))
    assert.deepStrictEqual(target({ ...github, metadata: { url } }), { kind: "none" })
    assert.strictEqual(target({ ...github, type: "mcp", metadata: { url } }).kind, "server")
  })

  it("is none for providers without a server, and ones not known", () => {
    for (const providerId of ["slack", "gmail", "unheard-of", "constructor", null]) {
      assert.deepStrictEqual(target({ providerId, type: "oauth", metadata: { url } }, "s3cret"), {
        kind: "none"
      })
    }
  })

  it.each([
    undefined,
    null,
    5,
    "",
    "example.org",
    "ftp://example.org/",
    "file:///etc/passwd",
    "javascript:1"
  ])("is unusable at the address %j", (bad) => {
    const metadata = bad === undefined ? {} : { url: bad }
    assert.strictEqual(
      errorOf(target({ type: "mcp", metadata })),
      "metadata.url: must be an http or https address"
    )
  })

  it("is unusable with what can't be sent, and says only where", () => {
    const bad = [
      mcp({ url: "https://user:canary@example.org/" }),
      mcp({ headers: "canary" }),
      mcp({ headers: ["canary"] }),
      mcp({ headers: { a: 5 } }),
      mcp({ headers: { a: "canary\r\nb: c" } }),
      mcp({ headers: { a: "canary 日本" } }),
      mcp({}, "canary\u0000"),
      mcp({}, { "x-key": "canary\r\n\r\n!" }),
      ...["Connection", "host", "Transfer-Encoding", "mcp-session-id", "a b", "a:b", ""].map((name) =>
        mcp({ headers: { [name]: "canary" } })
      )
    ].map(errorOf)
    for (const error of bad) {
      assert.isString(error)
      assert.match(String(error), /^metadata\.(url|headers|credential): /u)
      assert.notInclude(String(error), "canary")
    }
  })
})

describe("inScope", () => {
  const connector = (projectId: string | null, status: "ACTIVE" | "ERROR" | "INACTIVE" = "ACTIVE") => ({
    id: "conn_1" as ConnectorId,
    projectId: projectId as ProjectId | null,
    status
  })
  const scope = (
    projectId: string | null,
    connectorIds: ReadonlyArray<string> | null = null,
    allowed: ReadonlyArray<string> | null = null
  ) => ({ projectId, connectorIds, policy: allowed === null ? null : { connectorIds: allowed } })

  it("is what belongs to the project or to none", () => {
    assert.isTrue(inScope(connector(null), scope(null)))
    assert.isTrue(inScope(connector(null), scope("proj_1")))
    assert.isTrue(inScope(connector("proj_1"), scope("proj_1")))
    assert.isFalse(inScope(connector("proj_1"), scope("proj_2")))
    assert.isFalse(inScope(connector("proj_1"), scope(null)))
  })

  it("is exactly what is named", () => {
    assert.isTrue(inScope(connector("proj_1"), scope(null, ["conn_1"])))
    assert.isFalse(inScope(connector(null), scope(null, ["conn_2"])))
    assert.isFalse(inScope(connector(null), scope(null, [])))
  })

  it("is nothing that a policy takes away, and not more by what one leaves", () => {
    assert.isFalse(inScope(connector(null), scope(null, null, [])))
    assert.isFalse(inScope(connector(null), scope(null, ["conn_1"], ["conn_2"])))
    assert.isTrue(inScope(connector(null), scope(null, null, ["conn_1"])))
    assert.isFalse(inScope(connector("proj_1"), scope(null, null, ["conn_1"])))
    assert.isFalse(inScope(connector(null), scope(null, ["conn_2"], ["conn_1"])))
  })

  it("is never what is switched off, and also what had failed", () => {
    assert.isFalse(inScope(connector(null, "INACTIVE"), scope(null)))
    assert.isFalse(inScope(connector(null, "INACTIVE"), scope(null, ["conn_1"])))
    assert.isTrue(inScope(connector(null, "ERROR"), scope(null)))
  })
})
