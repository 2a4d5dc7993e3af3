import { assert, describe, it } from "@effect/vitest"
import { clientOf } from "../../src/Schemas/Forwarded.ts"
import { none, parse } from "../../src/Schemas/Networks.ts"

const trusted = parse("10.0.0.0/8, ::1") ?? none

describe("from where a request comes", () => {
  it("is its peer where no proxy is trusted, or another one", () => {
    assert.strictEqual(clientOf("10.0.0.1", "1.2.3.4", none), "10.0.0.1")
    assert.strictEqual(clientOf("8.8.8.8", "1.2.3.4", trusted), "8.8.8.8")
    assert.strictEqual(clientOf("10.0.0.1", undefined, trusted), "10.0.0.1")
  })

  for (const [list, client] of [
    ["1.2.3.4", "1.2.3.4"],
    ["6.6.6.6, 1.2.3.4", "1.2.3.4"],
    ["6.6.6.6,1.2.3.4 , 10.0.0.2,10.0.0.3", "1.2.3.4"],
    ["10.0.0.9, 10.0.0.2", "10.0.0.9"],
    ["2001:db8::7, ::1", "2001:db8::7"],
    ["6.6.6.6, 1.2.3.4:5678", "1.2.3.4"],
    ["[2001:db8::7]:443", "2001:db8::7"],
    ["[2001:db8::7]", "2001:db8::7"],
    ["6.6.6.6, unknown", "10.0.0.1"],
    ["6.6.6.6, unknown, 10.0.0.2", "10.0.0.2"],
    ["6.6.6.6, ", "10.0.0.1"],
    ["", "10.0.0.1"],
    ["6.6.6.6, [10.0.0.2", "10.0.0.1"]
  ] as const) {
    it(`is ${client} of "${list}" by a trusted proxy`, () => {
      assert.strictEqual(clientOf("10.0.0.1", list, trusted), client)
    })
  }

  it("may be behind a proxy that comes by IPv4 in IPv6", () => {
    assert.strictEqual(clientOf("::ffff:10.0.0.1", "1.2.3.4", trusted), "1.2.3.4")
  })
})
