import { assert, describe, it } from "@effect/vitest"
import { fingerprintText } from "../../src/Schemas/Approval.ts"
import { ConnectorId } from "../../src/Schemas/Ids.ts"
import { absenceNote, connectorUnavailable, deleted } from "../../src/Schemas/ToolAbsence.ts"
import { bound, definitionText, isSameTool, shownAddress, unbound } from "../../src/Schemas/ToolBinding.ts"
import { binding } from "../support/Bindings.ts"

const call = { id: "c1", name: "docs__write", arguments: { a: 1 } }

describe("What a call is bound to", () => {
  it("is what was shown under its name; nothing, if it is built in or made up", () => {
    const shown = [
      { definition: { name: "docs__write" }, binding },
      { definition: { name: "remember" }, binding: null }
    ]
    const calls = ["docs__write", "remember", "docs__wipe"].map((name) => ({ ...call, name }))
    const made = bound(calls, shown)
    assert.deepStrictEqual(
      made.map(({ binding }) => binding),
      [binding, null, null]
    )
    assert.deepStrictEqual(made.map(unbound), calls)
  })

  it("is the same whatever people call it, and no other by connector, address, tool or definition", () => {
    assert.isTrue(
      isSameTool(binding, { ...binding, connectorName: "other", description: "cut", readOnly: true })
    )
    for (const by of [
      { connectorId: ConnectorId.make("c") },
      { place: "q" },
      { tool: "t" },
      { definition: "e" }
    ]) {
      assert.isFalse(isSameTool(binding, { ...binding, ...by }))
      assert.notStrictEqual(
        fingerprintText({ ...call, binding }),
        fingerprintText({ ...call, binding: { ...binding, ...by } })
      )
    }
    assert.isFalse(isSameTool(binding, null))
    assert.isTrue(isSameTool(null, null))
  })

  it("makes another fingerprint than any name, which is what it was before", () => {
    assert.strictEqual(fingerprintText(call), '["docs__write",{"a":1}]')
    assert.strictEqual(fingerprintText({ ...call, binding: null }), fingerprintText(call))
    assert.notStrictEqual(fingerprintText({ ...call, binding }), fingerprintText(call))
  })

  it("has a definition that is the same whatever the order of its members", () => {
    const of = (inputSchema: unknown, more: object = {}) =>
      definitionText({ name: "t", inputSchema, ...more })
    const one = of({ type: "object", properties: { a: {}, b: { enum: [1, 2] } } })
    assert.strictEqual(one, of({ properties: { b: { enum: [1, 2] }, a: {} }, type: "object" }))
    assert.notStrictEqual(one, of({ type: "object", properties: { a: {}, b: { enum: [2, 1] } } }))
    for (const more of [{ title: "x" }, { description: "x" }, { annotations: { readOnlyHint: true } }]) {
      assert.notStrictEqual(of({}), of({}, more))
    }
  })
})

describe("The address that people see", () => {
  it("holds no values of the query, and no part that looks like a key", () => {
    for (const [address, shown] of [
      ["https://example.org/mcp", "https://example.org/mcp"],
      ["http://user:canary@127.0.0.1:3001/mcp#canary", "http://127.0.0.1:3001/mcp"],
      ["https://example.org/mcp?key=canary&key=canary2&b", "https://example.org/mcp?key=…&…"],
      ["https://example.org/mcp?sk_live_51H8abcdefGH", "https://example.org/mcp?…"],
      ["https://sk-1234567890abcdef.example.org/mcp", "https://….example.org/mcp"],
      ["https://example.org/s/abcDEF1234567890/mcp", "https://example.org/s/…/mcp"],
      [`https://example.org:8443/${"k".repeat(32)}`, "https://example.org:8443/…"],
      ["https://example.org/s/c4n4ryc4n4ryc4n4ryc4n4ry/mcp", "https://example.org/s/…/mcp"],
      [
        "https://example.org/a-long-name-without-any-digits/mcp",
        "https://example.org/a-long-name-without-any-digits/mcp"
      ]
    ] as const) {
      assert.strictEqual(shownAddress(address), shown)
    }
  })

  it("is cut", () => {
    assert.isBelow(shownAddress(`https://example.org/${"a/".repeat(5_000)}`).length, 600)
  })
})

describe("What can't be had", () => {
  it("is told with names and reason", () => {
    const { error, isGone } = connectorUnavailable({ id: binding.connectorId, name: 'a "b"', ...deleted })
    assert.strictEqual(
      error,
      'the tools of the connector "a \\"b\\"" (conn_1) are unavailable: the connector was deleted'
    )
    assert.isTrue(isGone)
  })

  it("is told to a model only where there is something", () => {
    assert.isNull(absenceNote([]))
    assert.match(absenceNote([{ id: binding.connectorId, name: "docs" }]) ?? "", /"docs"/u)
  })
})
