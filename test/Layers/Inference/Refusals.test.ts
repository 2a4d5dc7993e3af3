import { assert, describe, it } from "@effect/vitest"
import { failureOf } from "../../../src/Layers/Inference/Failures.ts"
import { AddressRefused } from "../../../src/Schemas/Outbound.ts"

const failed = (refusal: AddressRefused) =>
  failureOf(new TypeError("fetch failed", { cause: refusal }), {
    hasBegun: false,
    now: 0,
    scrub: (text) => text.replace("canary", "[hidden]")
  })

describe("a refusal to connect", () => {
  it("is tried again where the host is unknown or not allowed, since names come and go", () => {
    const { error, isRetryable } = failed(new AddressRefused({ error: "canary is away", isAway: true }))
    assert.isTrue(isRetryable)
    assert.deepInclude(error, { reason: "unreachable", error: "baseUrl: [hidden] is away" })
  })

  it("is one for good where the address itself is wrong", () => {
    const { error, isRetryable } = failed(new AddressRefused({ error: "it redirects to canary" }))
    assert.isFalse(isRetryable)
    assert.deepInclude(error, { reason: "bad_request", error: "baseUrl: it redirects to [hidden]" })
  })
})
