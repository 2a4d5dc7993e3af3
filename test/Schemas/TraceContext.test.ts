import { assert, describe, it } from "@effect/vitest"
import { executionSpanId, readTraceparent, toTraceparent } from "../../src/Schemas/TraceContext.ts"

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const span = "00f067aa0ba902b7"

describe("traceparent", () => {
  it.each([
    [`00-${trace}-${span}-01`, true],
    [`00-${trace}-${span}-00`, false],
    [`00-${trace}-${span}-03`, true],
    [`cc-${trace}-${span}-01`, true],
    [`cc-${trace}-${span}-01-what-will-be`, true]
  ])("is read: %s", (text, sampled) => {
    const context = { traceId: trace, spanId: span, sampled }
    assert.deepStrictEqual(readTraceparent(text), context)
    assert.strictEqual(toTraceparent(context), `00-${trace}-${span}-${sampled ? "01" : "00"}`)
  })

  it.each([
    null,
    undefined,
    "",
    "00",
    `00-${trace}-${span}`,
    `00-${trace}-${span}-1`,
    `00-${trace}-${span}-0g`,
    `00-${trace}-${span}-01-more`,
    `00-${trace}-${span}-01\n`,
    `00-${trace}-${span}-01, 00-${trace}-${span}-01`,
    ` 00-${trace}-${span}-01`,
    `ff-${trace}-${span}-01`,
    `0-${trace}-${span}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace.slice(1)}-${span}-01`,
    `00-${"0".repeat(32)}-${span}-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `cc-${trace}-${span}-01.more`,
    `cc-${trace}-${span}-01-${"x".repeat(300)}`
  ])("is as if it were not there: %j", (text) => {
    assert.isUndefined(readTraceparent(text))
  })
})

describe("the span of an epoch", () => {
  it("has an id that follows from the run and the epoch, and is another of each", () => {
    const ids = new Set<string>()
    for (let run = 0; run < 100; run++) {
      for (let epoch = 1; epoch <= 100; epoch++) {
        const id = executionSpanId(`run_${run}`, epoch)
        assert.match(id, /^(?!0{16})[0-9a-f]{16}$/)
        ids.add(id)
      }
    }
    assert.strictEqual(ids.size, 10_000)
    assert.strictEqual(executionSpanId("run_1", 1), executionSpanId("run_1", 1))
  })
})
