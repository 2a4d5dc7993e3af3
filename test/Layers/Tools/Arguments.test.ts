import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { checkArguments } from "../../../src/Layers/Tools/Arguments.ts"

const parameters = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2 },
    tags: { type: "array", items: { type: "string" } },
    at: { type: "object", properties: { x: { type: "integer" } }, required: ["x"] }
  },
  required: ["name"],
  additionalProperties: false
} as const satisfies Schema.JsonObject

const said = (schema: Schema.JsonObject, argument: Schema.Json) =>
  Effect.map(Effect.flip(checkArguments(schema, argument)), ({ error }) => error)

const timed = Effect.fnUntraced(function* (schema: Schema.JsonObject, argument: Schema.Json) {
  const startedAt = performance.now()
  const error = yield* said(schema, argument)
  return { error, millis: performance.now() - startedAt }
})

/** Two branches that fail at every level: 2 to the 40th evaluations. */
const exponential = Object.fromEntries(
  Array.from({ length: 41 }, (_, level) => [
    `l${level}`,
    level === 40
      ? { type: "string" }
      : { anyOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] }
  ])
)

describe("checkArguments", () => {
  it.effect("lets through what the schema takes, as it is", () =>
    Effect.gen(function* () {
      const argument = { name: "ab", tags: ["x"], at: { x: 1 } }
      assert.strictEqual(yield* checkArguments(parameters, argument), argument)
      assert.deepStrictEqual(yield* checkArguments({}, { anything: null }), { anything: null })
    })
  )

  it.effect("names each place at fault, and only what is wrong there", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* said(parameters, { name: 1, tags: ["x", 2], at: {} }),
        'name: Instance type "number" is invalid. Expected "string"; ' +
          'tags.1: Instance type "number" is invalid. Expected "string"; ' +
          'at: Instance does not have required property "x"'
      )
      assert.strictEqual(yield* said(parameters, { name: "ab", other: 1 }), "other: is not allowed")
      assert.match(yield* said(parameters, {}), /^arguments: .*"name"/u)
    })
  )

  it.effect("tells ten problems at most", () =>
    Effect.gen(function* () {
      const tags = Array.from({ length: 50 }, () => 1)
      const error = yield* said(parameters, { name: "ab", tags })
      assert.match(error, /and more$/u)
      assert.strictEqual(error.split("; ").length, 11)
    })
  )

  it.effect.each([[null], ["{}"], [[]], [1]])("takes no %j for an object, whatever the schema", ([given]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* said({}, given ?? null), "arguments: must be a JSON object")
    })
  )

  it.effect("reads the draft that the schema names", () =>
    Effect.gen(function* () {
      const pair = { properties: { p: { items: [{ type: "string" }], additionalItems: false } } }
      const seventh = { $schema: "http://json-schema.org/draft-07/schema#", ...pair }
      assert.match(yield* said(seventh, { p: ["a", 1] }), /^p/u)
      yield* checkArguments({ properties: { p: { prefixItems: [{ type: "string" }] } } }, { p: ["a", 1] })
    })
  )

  it.effect("does not change the schema", () =>
    Effect.gen(function* () {
      const schema = {
        type: "object",
        properties: { a: { $ref: "#/$defs/a" } },
        $defs: { a: { type: "string" } }
      }
      const before = JSON.stringify(schema)
      yield* checkArguments(schema, { a: "x" })
      assert.strictEqual(JSON.stringify(schema), before)
    })
  )

  it.effect.each([
    [{ properties: { a: { $ref: "#/$defs/none" } } }],
    [{ properties: { a: { pattern: "(" } } }],
    [{ properties: { a: { $ref: "https://example.org/schema" } } }]
  ])("only asks for an object where the schema can't be evaluated: %j", ([schema]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* checkArguments(schema ?? {}, { a: "x" }), { a: "x" })
    })
  )

  it.effect("does not let a schema hold the process, however it tries, and works on afterwards", () =>
    Effect.gen(function* () {
      const regex = { properties: { a: { pattern: "^(a+)+$" } } }
      const refs = { properties: { a: { $ref: "#/$defs/l0" } }, $defs: exponential }
      const loop = { $ref: "#" }
      for (const [schema, argument] of [
        [regex, { a: `${"a".repeat(40)}!` }],
        [refs, { a: 1 }],
        [loop, {}]
      ] as const) {
        const { error, millis } = yield* timed(schema, argument)
        assert.strictEqual(error, "arguments: could not be checked in time")
        assert.isBelow(millis, 300)
      }
      assert.deepStrictEqual(yield* checkArguments(parameters, { name: "ab" }), { name: "ab" })
    })
  )
})
