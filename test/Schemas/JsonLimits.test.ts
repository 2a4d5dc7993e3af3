import { assert, describe, it } from "@effect/vitest"
import { jsonProblem, mostKeys, mostLevels, mostValues } from "../../src/Schemas/JsonLimits.ts"

const problemOf = (json: string) => jsonProblem(Buffer.from(json))
const keys = (count: number, value = "0") =>
  Array.from({ length: count }, (_, n) => `"k${n}":${value}`).join(",")
const nested = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels)
const zeros = (count: number) => Array.from({ length: count }, () => "0").join(",")

const tooDeep = "must be nested less deep: a body may have 32 levels"
const tooManyKeys = "must have at most 1,000 keys in one object"
const tooManyValues = "must have fewer values: a body may have 10,000 in all"

describe("what is costly to parse", () => {
  it("is nested deeper than 32 levels, the body counted", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"]
    ] as const) {
      const body = (levels: number) => `{"b":1,"a":${nested(open, close, levels - 1).replace(":}", ":1}")}}`
      assert.isUndefined(problemOf(body(mostLevels)))
      assert.strictEqual(problemOf(body(mostLevels + 1)), `a: ${tooDeep}`)
      assert.strictEqual(problemOf(body(100_000)), `a: ${tooDeep}`)
    }
    assert.strictEqual(problemOf(nested("[", "]", 33)), `body: ${tooDeep}`)
    assert.isUndefined(problemOf(`{"a":[${"[[]],".repeat(100)}[]],"b":{}}`))
  })

  it("has more than 1,000 keys in one object", () => {
    assert.isUndefined(problemOf(`{${keys(mostKeys)}}`))
    assert.strictEqual(problemOf(`{${keys(mostKeys + 1)}}`), `body: ${tooManyKeys}`)
    assert.isUndefined(problemOf(`{"a":{${keys(mostKeys)}},"b":[{${keys(mostKeys)}},{${keys(mostKeys)}}]}`))
    assert.strictEqual(problemOf(`{"a":1,"b":[{${keys(mostKeys + 1)}}]}`), `b: ${tooManyKeys}`)
    const same = Array.from({ length: mostKeys + 1 }, () => '"__proto__":{}').join(" , ")
    assert.strictEqual(problemOf(`{ "metadata" : {${same}}}`), `metadata: ${tooManyKeys}`)
    // Between the keys of one object others may stand.
    const parts = `${keys(500, "{}")},"x":{${keys(mostKeys)}}`
    assert.isUndefined(problemOf(`{"a":{${parts}}}`))
    assert.strictEqual(problemOf(`{"a":{${parts},${keys(500)}}}`), `a: ${tooManyKeys}`)
  })

  it("has more than 10,000 values in all", () => {
    // With the body and the array.
    assert.isUndefined(problemOf(`{"a":[${zeros(mostValues - 2)}]}`))
    assert.strictEqual(problemOf(`{"a":[${zeros(mostValues - 1)}]}`), `a: ${tooManyValues}`)
    assert.isUndefined(problemOf(`[${zeros(mostValues - 1)}]`))
    assert.strictEqual(problemOf(`[${zeros(mostValues)}]`), `body: ${tooManyValues}`)
    const pairs = (count: number) => Array.from({ length: count }, () => "[ 1 ]").join(",")
    assert.isUndefined(problemOf(`{"a":[${pairs(4_999)}]}`))
    assert.strictEqual(problemOf(`{"a":[${pairs(5_000)}]}`), `a: ${tooManyValues}`)
    // What is empty is one value.
    assert.isUndefined(problemOf(`{"a":[${Array.from({ length: 9_998 }, () => "[ ]").join(",")}]}`))
    assert.isUndefined(problemOf(`{"a":[${Array.from({ length: 9_998 }, () => "{\n}").join(",")}]}`))
  })

  it("is not what stands in texts", () => {
    const marks = '[{:,\\"}]\\\\'.repeat(20_000)
    assert.isUndefined(problemOf(JSON.stringify({ value: marks, [marks]: marks })))
    assert.isUndefined(problemOf(`{"a":"${'\\"'.repeat(100_000)}","b":"\\\\"}`))
    assert.strictEqual(problemOf(`{"a":"\\\\",${keys(mostKeys)}}`), `body: ${tooManyKeys}`)
  })

  it("is named by the field it stands under, if that is a name", () => {
    const deep = nested("[", "]", 40)
    assert.strictEqual(problemOf(`{"a":{"b":1},"grantedScopes":${deep}}`), `grantedScopes: ${tooDeep}`)
    for (const name of ["", "two words", "\\u0061", "x".repeat(101), "a\u202eb"]) {
      assert.strictEqual(problemOf(`{"${name}":${deep}}`), `body: ${tooDeep}`)
    }
  })

  it("is looked for in what is no JSON as well", () => {
    for (const text of [
      "",
      "{",
      "}",
      "]]",
      '"',
      '"\\',
      '{"a',
      '{"a\\',
      "[[[",
      "}{][",
      ":",
      ",",
      "\ufeff{}",
      "\u0000"
    ]) {
      assert.isUndefined(problemOf(text), text)
    }
    assert.strictEqual(problemOf("{[".repeat(20)), `body: ${tooDeep}`)
    assert.strictEqual(problemOf(",".repeat(20_000)), `body: ${tooManyValues}`)
  })
})
