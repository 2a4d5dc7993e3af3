import { assert, describe, it } from "@effect/vitest"
import type * as Schema from "effect/Schema"
import { exampleOf } from "../../../src/Layers/Inference/OfflineExample.ts"
import { nextEvents } from "../../../src/Layers/Inference/OfflineScript.ts"
import { problemsOf } from "../../../src/Layers/Tools/SchemaCheck/Problems.ts"
import type { InferenceRequest } from "../../../src/Schemas/Inference.ts"
import { weather } from "../../support/Models.ts"

const node: Schema.JsonObject = {
  type: "object",
  properties: { value: { type: "integer" }, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } },
  required: ["value", "next"],
  additionalProperties: false
}

const schemas: Readonly<Record<string, Schema.JsonObject>> = {
  "an object": {
    type: "object",
    properties: { name: { type: "string", minLength: 9 }, age: { type: "integer", minimum: 18 } },
    required: ["name", "age"],
    additionalProperties: false
  },
  "one of words": { type: "string", enum: ["red", "green"] },
  "a constant": { type: "object", properties: { kind: { const: "x" } }, required: ["kind"] },
  "a list": { type: "array", minItems: 3, items: { type: "number", exclusiveMinimum: 2 } },
  "a time": { type: "string", format: "date-time" },
  "one of types": { type: ["null", "boolean"] },
  "one of ways": { oneOf: [{ type: "string", maxLength: 2 }, { type: "integer" }] },
  "all of several": {
    allOf: [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { properties: { b: { type: "integer", multipleOf: 7, minimum: 8 } }, required: ["b"] }
    ]
  },
  "a reference": { $defs: { id: { type: "string", format: "uuid" } }, $ref: "#/$defs/id" },
  itself: { $defs: { node }, $ref: "#/$defs/node" },
  anything: {}
}

const ask = (content: string, more: Partial<InferenceRequest>) =>
  nextEvents({ system: null, messages: [{ role: "user", content }], tools: [], ...more }, "c1")
const textOf = (events: ReturnType<typeof nextEvents>) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("")

describe("an example of the offline provider", () => {
  it.each(Object.entries(schemas))("fits %s", (_, schema) => {
    const example = exampleOf(structuredClone(schema))
    assert.deepStrictEqual(problemsOf(structuredClone(schema), example), [], JSON.stringify(example))
  })

  it("is bounded, however often a schema names itself", () => {
    const names = Array.from({ length: 50 }, (_, n) => `p${n}`)
    const self = { $ref: "#" }
    const wide = {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, self])),
      required: names,
      allOf: [self, self, self]
    }
    assert.isBelow(JSON.stringify(exampleOf(wide)).length, 1_000_000)
    assert.deepStrictEqual(exampleOf({ $ref: "#" }), {})
  })
})

describe("the offline provider", () => {
  it("answers a format with JSON of its schema and nothing else", () => {
    const format = { name: "person", schema: schemas["an object"] ?? {} }
    assert.deepStrictEqual(JSON.parse(textOf(ask("who?", { format }))), { name: "examplexx", age: 18 })
    assert.deepStrictEqual(textOf(ask("who?", { format: { name: "any", schema: null } })), "{}")
  })

  it("calls what it must, and nothing where it may not", () => {
    const called = (more: Partial<InferenceRequest>, content = "hi") =>
      ask(content, { tools: [{ ...weather, name: "other" }, weather], ...more }).flatMap((event) =>
        event.type === "tool_call" ? [[event.call.name, event.call.arguments]] : []
      )
    assert.deepStrictEqual(called({}), [])
    assert.deepStrictEqual(called({ toolChoice: "required" }), [["other", { city: "example", days: 0 }]])
    assert.deepStrictEqual(called({ toolChoice: { name: "weather" } }), [
      ["weather", { city: "example", days: 0 }]
    ])
    assert.deepStrictEqual(called({ toolChoice: "required" }, 'call weather {"city":"Oslo"}'), [
      ["weather", { city: "Oslo" }]
    ])
    assert.deepStrictEqual(called({ toolChoice: "none" }, "call weather {}"), [])
  })

  it("stops at its limit of tokens and at the words that it is told", () => {
    const cut = ask("a b c", { sampling: { maxOutputTokens: 3 } })
    assert.strictEqual(textOf(cut), "This is the")
    const end = cut.at(-1)
    assert.isTrue(end?.type === "finish" && end.truncated !== undefined && end.usage.outputTokens === 3)
    const stopped = ask("a b c", { sampling: { stop: [" offline", " built"] } })
    assert.strictEqual(textOf(stopped), "This is the")
    assert.isTrue(stopped.every((event) => !("truncated" in event)))
  })
})
