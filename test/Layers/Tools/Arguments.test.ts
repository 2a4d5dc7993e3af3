import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Arguments from "../../../src/Layers/Tools/Arguments.ts"
import * as SchemaCheck from "../../../src/Layers/Tools/SchemaCheck.ts"
import { withSettableClock } from "../../support/Clocks.ts"
import { stalls } from "../../support/McpStall.ts"
import { eventually } from "../../support/Until.ts"

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

/** One thread for all tests, as a process has one. */
const scope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
const check = Arguments.make(Effect.runSync(Scope.provide(SchemaCheck.make, scope)))

const checkArguments = (schema: Schema.JsonObject, argument: Schema.Json, owner = "conn_1") =>
  check(owner, schema, argument).pipe(
    // What is harmless is not to be late on a machine that is busy.
    Effect.provideService(SchemaCheck.LimitsMillis, [60_000])
  )

const said = (schema: Schema.JsonObject, argument: Schema.Json) =>
  Effect.map(Effect.flip(checkArguments(schema, argument)), ({ error }) => error)

/** What is said of a schema that has the limits of production, and how many checks were begun so far. */
const makeLimited = Effect.sync(() => {
  const begun = { count: 0 }
  const limits: Iterable<number> = {
    *[Symbol.iterator]() {
      begun.count++
      yield 100
    }
  }
  const late = (schema: Schema.JsonObject, argument: Schema.Json) =>
    check("conn_1", schema, argument).pipe(
      Effect.provideService(SchemaCheck.LimitsMillis, limits),
      Effect.flip,
      Effect.map(({ error }) => error)
    )
  return { begun, late }
})

const tooLate = "arguments: could not be checked in time"
const hostile = { a: `${"a".repeat(40)}!` }

/** A schema that takes its time with the arguments above, and another one with each title. */
const slow = (title: string): Schema.JsonObject => ({ title, properties: { a: { pattern: "^(a+)+$" } } })

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
      const { late } = yield* makeLimited
      const regex = { properties: { a: { pattern: "^(a+)+$" } } }
      const refs = { properties: { a: { $ref: "#/$defs/l0" } }, $defs: exponential }
      const loop = { $ref: "#" }
      for (const [schema, argument] of [
        [regex, hostile],
        [refs, { a: 1 }],
        [loop, {}]
      ] as const) {
        assert.strictEqual(yield* late(schema, argument), tooLate)
      }
      assert.deepStrictEqual(yield* checkArguments(parameters, { name: "ab" }), { name: "ab" })
    })
  )

  it.effect("gives a check that is late a second try with more time", () =>
    Effect.gen(function* () {
      const limits = [...(yield* SchemaCheck.LimitsMillis)]
      assert.deepStrictEqual(limits, [100, 500])
      const checked = check("conn_1", { ...parameters, title: "second" }, { name: "ab" })
      yield* Effect.provideService(checked, SchemaCheck.LimitsMillis, [1e-6, 60_000])
    })
  )

  it.effect.each([
    ["the same", () => "same", 1],
    ["another one each", (index: number) => `other ${index}`, 40]
  ] as const)("lets the event loop turn, however many calls by a hostile schema: %s", ([, title, checks]) =>
    Effect.gen(function* () {
      const { begun, late } = yield* makeLimited
      const calls = Array.from({ length: 40 }, (_, index) => late(slow(title(index)), hostile))
      const { longest, total, value } = yield* stalls(Effect.all(calls, { concurrency: "unbounded" }))
      assert.deepStrictEqual([...new Set(value)], [tooLate])
      assert.strictEqual(begun.count, checks)
      assert.isBelow(longest, 100)
      assert.isBelow(total, 300)
    })
  )

  it.effect("does not let the calls of one owner wait for all those of another", () =>
    Effect.gen(function* () {
      const { begun, late } = yield* makeLimited
      const calls = Array.from({ length: 40 }, (_, index) => late(slow(`first ${index}`), hostile))
      const fiber = yield* Effect.forkChild(Effect.all(calls, { concurrency: "unbounded" }))
      yield* eventually(
        Effect.sync(() => begun.count > 0),
        "the first is being checked"
      )
      const before = begun.count
      yield* checkArguments(parameters, { name: "ab" }, "conn_2")
      // The one under way, and the one behind.
      assert.isAtMost(begun.count, before + 1)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("refuses a schema that took too long without a try, for 10 minutes and to its owner", () =>
    Effect.gen(function* () {
      const { begun, late } = yield* makeLimited
      const harmless = { a: "aa" }
      assert.strictEqual(yield* late(slow("once"), hostile), tooLate)
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* late(slow("once"), harmless), tooLate)
      assert.strictEqual(begun.count, 1)
      assert.strictEqual(yield* checkArguments(slow("once"), harmless, "conn_2"), harmless)
      assert.strictEqual(yield* checkArguments(slow("twice"), harmless), harmless)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* checkArguments(slow("once"), harmless), harmless)
    })
  )

  it.effect("refuses it no longer where the time of day is set back meanwhile", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        const { late } = yield* makeLimited
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* late(slow("set back"), hostile), tooLate)
        yield* set(-3_600_000)
        yield* TestClock.adjust("11 minutes")
        const harmless = { a: "aa" }
        assert.strictEqual(yield* checkArguments(slow("set back"), harmless), harmless)
      })
    )
  )

  it.effect("remembers nothing of what another one refused", () =>
    Effect.gen(function* () {
      const { late } = yield* makeLimited
      assert.strictEqual(yield* late(slow("of one"), hostile), tooLate)
      const other = Arguments.make(yield* SchemaCheck.make)
      const harmless = { a: "aa" }
      const checked = other("conn_1", slow("of one"), harmless)
      assert.strictEqual(yield* Effect.provideService(checked, SchemaCheck.LimitsMillis, [60_000]), harmless)
      assert.strictEqual(yield* late(slow("of one"), harmless), tooLate)
    })
  )

  it.effect("survives arguments that are very large, or too deep to be sent", () =>
    Effect.gen(function* () {
      const items = Array.from({ length: 500_000 }, (_, index) => index)
      const { late } = yield* makeLimited
      assert.strictEqual(
        yield* late({ properties: { a: { items: { type: "string" } } } }, { a: items }),
        tooLate
      )
      let deep: Schema.Json = {}
      for (let level = 0; level < 100_000; level++) deep = [deep]
      assert.strictEqual(yield* late({ title: "deep" }, { deep }), tooLate)
      assert.deepStrictEqual(yield* checkArguments(parameters, { name: "ab" }), { name: "ab" })
    })
  )
})
