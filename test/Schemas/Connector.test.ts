import { assert, describe, it } from "@effect/vitest"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import {
  CreateConnector,
  metadataProblem,
  newConnector,
  type StoredConnector,
  toConnector,
  UpdateConnector
} from "../../src/Schemas/Connector.ts"
import { registryEntry } from "../../src/Schemas/ConnectorRegistry.ts"
import type { ConnectorId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { activeConnectorLimit } from "../../src/Schemas/Workspace.ts"

const nested = (depth: number) => {
  let value: Schema.Json = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const tooLarge = "must be at most 16 KiB as JSON"

describe("a new connector", () => {
  const given = { id: "connector_1" as ConnectorId, metadata: {}, sealedCredential: null, at: new Date(0) }
  const workspaceId = "ws_1" as WorkspaceId

  it("has what is known of its provider where the input does not say", () => {
    assert.deepStrictEqual(newConnector({ workspaceId, providerId: "github" }, given), {
      id: given.id,
      workspaceId,
      projectId: null,
      type: null,
      providerId: "github",
      providerName: "GitHub",
      status: "ACTIVE",
      grantedScopes: ["repo", "read:user"],
      hasCredential: false,
      metadata: {},
      sealedCredential: null,
      createdAt: given.at,
      updatedAt: given.at
    })
  })

  it("has what the input says, and no provider need be known", () => {
    const named = newConnector(
      { workspaceId, providerId: "github", providerName: "Ours", grantedScopes: [] },
      { ...given, metadata: { a: 1 }, sealedCredential: "sealed" }
    )
    assert.deepInclude(named, {
      providerName: "Ours",
      grantedScopes: [],
      metadata: { a: 1 },
      hasCredential: true,
      sealedCredential: "sealed"
    })
    assert.deepInclude(newConnector({ workspaceId, type: "mcp" }, given), {
      type: "mcp",
      providerId: null,
      providerName: null,
      grantedScopes: []
    })
  })
})

describe("the metadata of a connector", () => {
  it("is up to 16 KiB as JSON, in bytes of UTF-8", () => {
    const around = '{"a":""}'.length
    assert.isUndefined(metadataProblem({ a: "x".repeat(16_384 - around) }))
    assert.strictEqual(metadataProblem({ a: "x".repeat(16_385 - around) }), tooLarge)
    assert.isUndefined(metadataProblem({ a: "é".repeat((16_384 - around) / 2) }))
    assert.strictEqual(metadataProblem({ a: "é".repeat((16_384 - around) / 2 + 1) }), tooLarge)
    assert.strictEqual(metadataProblem({ credential: "x".repeat(16_384) }), tooLarge)
  })

  it("is nested at most 31 deep, in a body of 32", () => {
    assert.isUndefined(metadataProblem({}))
    assert.isUndefined(metadataProblem({ a: nested(30) }))
    const deep = "must be nested at most 31 deep"
    for (const depth of [31, 32, 5_000]) assert.strictEqual(metadataProblem({ a: nested(depth) }), deep)
  })

  it.each([1_000, 200_000, 500_000])("is refused, not a crash, with %d values in one list", (length) => {
    // As many fit into a body of 1 MiB.
    const problem = metadataProblem({ a: Array.from({ length }, () => 0) })
    assert.strictEqual(problem, length > 8_000 ? tooLarge : undefined)
  })

  it("has no NUL characters, in keys or values, but may have what only looks like one", () => {
    const problem = "must not contain NUL characters"
    for (const bad of ["\u0000", "a\u0000b", "\\\u0000", "\\\\\u0000", '"\u0000']) {
      assert.strictEqual(metadataProblem({ a: [{ b: bad }] }), problem, JSON.stringify(bad))
      assert.strictEqual(metadataProblem({ [bad]: 1 }), problem, JSON.stringify(bad))
    }
    for (const good of ["\\u0000", "\\\\u0000", "u0000", "\u0001"]) {
      assert.isUndefined(metadataProblem({ [good]: good }), JSON.stringify(good))
    }
  })

  it("has no lone surrogates, in keys or values, but may have what only looks like one", () => {
    const problem = "must be well-formed Unicode"
    for (const bad of ["\ud83d", "a\udc00", "\udc00\ud83d", "\\\ud83d"]) {
      assert.strictEqual(metadataProblem({ a: [{ b: bad }] }), problem, JSON.stringify(bad))
      assert.strictEqual(metadataProblem({ [bad]: 1 }), problem, JSON.stringify(bad))
    }
    for (const good of ["😀", "\\ud83d", "ud83d", "\ufffd"]) {
      assert.isUndefined(metadataProblem({ [good]: good }), JSON.stringify(good))
    }
  })

  it("has as credential a string or an object of strings", () => {
    for (const credential of ["x", { a: "x" }, { a: "x", b: "" }]) {
      assert.isUndefined(metadataProblem({ credential }))
    }
    for (const credential of ["", null, 1, true, [], ["x"], { a: 1 }, { a: null }, { a: { b: "x" } }]) {
      assert.strictEqual(
        metadataProblem({ credential }),
        "credential must be a string or an object of strings",
        JSON.stringify(credential)
      )
    }
    assert.isUndefined(metadataProblem({ a: { credential: 1 } }), "only the one at the top is a secret")
  })
})

describe("a new connector", () => {
  const decode = (input: object) =>
    Schema.decodeUnknownExit(CreateConnector)({ workspaceId: "ws_1", ...input })
  const isRefused = (input: object) => {
    const exit = decode(input)
    assert.isTrue(Exit.isFailure(exit))
    if (Exit.isFailure(exit)) assert.isFalse(Exit.hasDies(exit), "a crash")
  }

  it("needs a type or a provider", () => {
    assert.isTrue(Exit.isSuccess(decode({ type: "mcp" })))
    assert.isTrue(Exit.isSuccess(decode({ providerId: "github" })))
    assert.isTrue(Exit.isSuccess(decode({ type: null, providerId: "github" })))
    for (const none of [{}, { type: null }, { type: null, providerId: null }, { type: " " }]) isRefused(none)
  })

  it("has scopes as texts, 100 at most", () => {
    const scopes = (length: number) => Array.from({ length }, (_, index) => `scope ${index}`)
    assert.isTrue(Exit.isSuccess(decode({ type: "mcp", grantedScopes: scopes(100) })))
    for (const wrong of [scopes(101), [1], [""], "read", null])
      isRefused({ type: "mcp", grantedScopes: wrong })
  })

  it("has an object as metadata", () => {
    for (const wrong of [null, [], "x", 1]) isRefused({ type: "mcp", metadata: wrong })
  })

  it.each([
    ["300,000 values in one list", Array.from({ length: 300_000 }, () => 0)],
    ["1,000 levels", nested(1_000)],
    ["300,000 levels", nested(300_000)]
  ])("is refused, not a crash, with %s in its metadata", (_, value) => {
    isRefused({ type: "mcp", metadata: { value } })
  })

  it("can be switched on and off, but not be put into ERROR", () => {
    const patch = Schema.decodeUnknownExit(UpdateConnector)
    assert.isTrue(Exit.isSuccess(patch({ status: "ACTIVE" })))
    assert.isTrue(Exit.isSuccess(patch({ status: "INACTIVE" })))
    for (const status of ["ERROR", "active", null, ""]) assert.isTrue(Exit.isFailure(patch({ status })))
  })
})

describe("a connector as callers see it", () => {
  const stored: StoredConnector = {
    id: "conn_1" as ConnectorId,
    workspaceId: "ws_1" as WorkspaceId,
    projectId: null,
    type: null,
    providerId: "github",
    providerName: "GitHub",
    status: "ACTIVE",
    grantedScopes: ["repo"],
    hasCredential: true,
    metadata: { url: "https://example.org/?token=canary", headers: { "x-key": "canary" } },
    sealedCredential: "canary",
    createdAt: new Date(0),
    updatedAt: new Date(1)
  }

  it("has the documented fields, and nothing of the metadata or the credential", () => {
    const shown = toConnector(stored)
    assert.deepStrictEqual(Object.keys(shown).sort(), [
      "createdAt",
      "grantedScopes",
      "hasCredential",
      "id",
      "projectId",
      "providerId",
      "providerName",
      "status",
      "type",
      "updatedAt",
      "workspaceId"
    ])
    assert.notInclude(JSON.stringify(shown), "canary")
  })
})

describe("the registry", () => {
  it("knows a provider by its name as it is written", () => {
    assert.strictEqual(registryEntry("github")?.name, "GitHub")
    for (const unknown of [null, "", "GitHub", "constructor", "__proto__", "toString"]) {
      assert.isUndefined(registryEntry(unknown))
    }
  })
})

describe("the limit of active connectors", () => {
  it("is five on the free plan, and none on the other", () => {
    assert.strictEqual(activeConnectorLimit("free"), 5)
    assert.isNull(activeConnectorLimit("pro"))
  })
})
