import { assert, describe, it } from "@effect/vitest"
import { none } from "../../src/Schemas/Cors.ts"
import { isOwnOrigin } from "../../src/Schemas/OwnOrigin.ts"

describe("the origin of a request to /mcp", () => {
  it("is let in where nobody's DNS can have brought it here", () => {
    const from = (origin: string | undefined, host: string | undefined) => isOwnOrigin({ origin, host }, none)
    for (const [origin, host] of [
      [undefined, "evil.example.org"],
      ["http://127.0.0.1:3000", "127.0.0.1:3000"],
      ["http://[::1]:3000", "[::1]:3000"],
      ["http://localhost", "localhost"],
      ["http://app.localhost:1", "app.localhost:1"],
      ["https://agentd.example.org", "AGENTD.example.org"]
    ] as const) {
      assert.isTrue(from(origin, host), `${origin} at ${host}`)
    }
    for (const [origin, host] of [
      ["http://evil.example.org", "evil.example.org"],
      ["http://127.0.0.1.example.org", "127.0.0.1.example.org"],
      ["http://127.0.0.1:3001", "127.0.0.1:3000"],
      ["https://evil.example.org", "agentd.example.org"],
      ["https://agentd.example.org", undefined],
      ["null", "127.0.0.1"],
      ["nonsense", "nonsense"]
    ] as const) {
      assert.isFalse(from(origin, host), `${origin} at ${host}`)
    }
  })

  it("is let in where the operator names it, or any", () => {
    const request = { origin: "http://app.example.org", host: "127.0.0.1" }
    assert.isTrue(isOwnOrigin(request, new Set(["http://app.example.org"])))
    assert.isFalse(isOwnOrigin(request, new Set(["https://app.example.org"])))
    assert.isTrue(isOwnOrigin(request, "any"))
  })
})
