import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse, parseAll, read } from "./support/Sources.ts"
import { allowed, wallTimeOf } from "./support/WallTime.ts"

const sources = parseAll(read(resolve(import.meta.dirname, "../src")))

describe("the time of day", () => {
  it("is asked for where it is meant, and by nobody else: durations come from `monotonicMillis`", () => {
    assert.isAbove(sources.size, 200)
    assert.deepStrictEqual([...wallTimeOf(sources)].sort(), [...allowed.keys()].sort())
  })

  it.each([
    "const a = Clock.currentTimeMillis",
    "const a = clock.currentTimeMillisUnsafe()",
    "const a = Effect.map(Clock.currentTimeNanos, (at) => at)",
    "const a = clock['currentTimeNanosUnsafe']()",
    "const a = Date.now()",
    "const a = DateTime.now",
    "const a = new Date().getTime()"
  ])("is found: %s", (text) => {
    assert.deepStrictEqual(wallTimeOf(new Map([["A.ts", parse("A.ts", text)]])), ["A.ts"])
  })

  it.each([
    "const a = new Date(millis)",
    "const a = performance.now()",
    "// Date.now()\nconst a = 'Date.now()'"
  ])("is not: %s", (text) => assert.deepStrictEqual(wallTimeOf(new Map([["A.ts", parse("A.ts", text)]])), []))
})
