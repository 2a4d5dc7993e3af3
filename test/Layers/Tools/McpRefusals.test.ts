import { assert, describe, it } from "@effect/vitest"
import type { McpClientError } from "effect/ai/McpClientError"
import { failureOf } from "../../../src/Layers/Tools/Mcp/Errors.ts"
import { isUnhealthy, problemOf } from "../../../src/Layers/Tools/Mcp/Failure.ts"
import { AddressRefused } from "../../../src/Schemas/Outbound.ts"

const failed = (refusal: AddressRefused) =>
  failureOf(
    {
      reason: { _tag: "TransportError", description: "MCP HTTP request failed" },
      cause: new TypeError("fetch failed", { cause: refusal })
    } as unknown as McpClientError,
    { hasSession: true, scrub: (text) => text.replace("canary", "[hidden]") }
  )

describe("a refusal to connect", () => {
  it("is a server that is away, to which nothing was sent, where the host is unknown or not allowed", () => {
    const failure = failed(new AddressRefused({ error: "canary.example is away", isAway: true }))
    assert.deepInclude(failure, { reason: "unreachable", isUnsent: true })
    assert.isTrue(isUnhealthy(failure))
    assert.deepStrictEqual(problemOf(failure), {
      code: "address_not_allowed",
      message: "[hidden].example is away"
    })
  })

  it("is one for good where the server redirects elsewhere", () => {
    const failure = failed(new AddressRefused({ error: "it redirects to canary" }))
    assert.deepInclude(failure, { reason: "refused", isUnsent: false })
    assert.deepStrictEqual(problemOf(failure), {
      code: "address_not_allowed",
      message: "it redirects to [hidden]"
    })
  })
})
