import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SchemaCheck from "../../../src/Layers/Tools/SchemaCheck.ts"
import { jsonTextOf, jsonValueOf, piecesOf } from "../../../src/Schemas/FormattedAnswer.ts"
import type { AnswerFormat, InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import type { RunEvent } from "../../../src/Schemas/RunEvent.ts"
import { runWith } from "../../support/Loop.ts"
import { calls, finish, layerScripted, says } from "../../support/Service.ts"

const person: AnswerFormat = {
  name: "person",
  schema: {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
    additionalProperties: false
  }
}
const good = '{"name":"Ada","age":36}'
const bad = '{"name":"Ada"}'

/** What is harmless is not to be late on a machine that is busy. */
const layer = layerScripted().pipe(Layer.provideMerge(Layer.succeed(SchemaCheck.LimitsMillis, [60_000])))

const told = (events: ReadonlyArray<RunEvent>) =>
  events.flatMap(({ data }) => ("delta" in data ? [data.delta] : [])).join("")

const makeJournal = (finished: ReadonlyMap<number, JournalStep> = new Map()) => {
  const kept = new Map(finished)
  const record = (index: number, step: JournalStep) => Effect.sync(() => Boolean(kept.set(index, step)))
  return { kept, journal: { finished, record } }
}

describe("An answer with a format", () => {
  it.effect("is told when it was checked, as JSON alone", () =>
    Effect.gen(function* () {
      const { events, exit, requests } = yield* runWith({
        answers: [says("```json\n", good, "\n```\n")],
        given: { format: person }
      })
      assert.isTrue(exit._tag === "Success")
      if (exit._tag !== "Success") return
      assert.deepStrictEqual([exit.success.answer, exit.success.text, told(events)], [good, good, good])
      assert.deepStrictEqual(requests[0]?.format, person)
    }).pipe(Effect.provide(layer))
  )

  it.effect.each([
    ["does not fit", bad, "age"],
    ["is no JSON", "Ada is 36.", "JSON"],
    ["is JSON with words around it", `Here: ${good}`, "JSON"]
  ] as const)("is asked for once again where it %s", ([, first, reason]) =>
    Effect.gen(function* () {
      const { journal, kept } = makeJournal()
      const { events, exit, requests } = yield* runWith({
        answers: [says(first), says(good), says("no more")],
        given: { format: person },
        journal
      })
      assert.isTrue(exit._tag === "Success")
      if (exit._tag !== "Success") return
      assert.strictEqual(told(events), good)
      assert.strictEqual(exit.success.text, good)
      assert.deepStrictEqual(exit.success.transcript, [{ role: "assistant", content: good, toolCalls: [] }])
      assert.strictEqual(requests.length, 2)
      const [before, again] = requests[1]?.messages.slice(-2) ?? []
      assert.isTrue(before?.role === "assistant" && before.content === first)
      assert.isTrue(again?.role === "user" && again.content.includes(reason), JSON.stringify(again))
      assert.deepStrictEqual(
        [...kept.values()].map((step) => step.type === "model" && step.unfit?.isFinal),
        [false, undefined]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("fails the work where it does not fit again, and nothing of it is told", () =>
    Effect.gen(function* () {
      const { journal, kept } = makeJournal()
      const { events, exit, requests } = yield* runWith({
        answers: [says(bad), says(bad), says(good)],
        given: { format: person },
        journal
      })
      assert.isTrue(exit._tag === "Failure")
      if (exit._tag !== "Failure") return
      assert.isTrue(exit.failure._tag === "InvalidOutput" && exit.failure.error.includes("age"))
      assert.strictEqual(told(events), "")
      assert.strictEqual(requests.length, 2)
      assert.strictEqual(kept.size, 2)

      const after = yield* runWith({
        answers: [],
        given: { format: person },
        journal: { ...journal, finished: kept }
      })
      assert.strictEqual(after.exit._tag, "Failure")
      assert.strictEqual(after.requests.length, 2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("goes on behind the answer that did not fit when it is taken up", () =>
    Effect.gen(function* () {
      const { journal, kept } = makeJournal()
      yield* runWith({ answers: [says(bad), says(good)], given: { format: person }, journal })
      const first = makeJournal(new Map([...kept].slice(0, 1)))
      const { exit, requests } = yield* runWith({
        answers: [says(good)],
        given: { format: person },
        journal: first.journal
      })
      assert.isTrue(exit._tag === "Success" && exit.success.text === good)
      assert.strictEqual(requests.length, 3)
      assert.deepStrictEqual(requests[2]?.messages, requests[1]?.messages)
      assert.deepStrictEqual([...first.kept.keys()], [0, 1])

      const whole = makeJournal(kept)
      const over = yield* runWith({ answers: [], given: { format: person }, journal: whole.journal })
      assert.isTrue(over.exit._tag === "Success" && over.exit.success.text === good)
      assert.strictEqual(over.requests.length, 3)
    }).pipe(Effect.provide(layer))
  )

  it.effect("says nothing of what was said before it, beside calls", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<ReadonlyArray<InferenceEvent>> = [
        [{ type: "text", delta: "Let me see. " }, ...calls("echo")],
        says(good)
      ]
      const { events, exit } = yield* runWith({ answers, given: { format: person } })
      assert.isTrue(exit._tag === "Success" && exit.success.text === good)
      assert.strictEqual(told(events), good)
      const own = { name: "own", description: "", parameters: {}, readOnly: false }
      const left = yield* runWith({
        answers: [[{ type: "text", delta: "Your turn" }, ...calls("own")]],
        given: { format: person, tools: [own] }
      })
      assert.isTrue(left.exit._tag === "Success" && left.exit.success.text === "")
      assert.strictEqual(told(left.events), "")
    }).pipe(Effect.provide(layer))
  )

  it.effect("is told as far as it came where it was cut off, and not checked", () =>
    Effect.gen(function* () {
      const cut: ReadonlyArray<InferenceEvent> = [
        { type: "text", delta: '{"name":"A' },
        { ...finish, truncated: "the limit" } as InferenceEvent
      ]
      const { events, exit, requests } = yield* runWith({ answers: [cut], given: { format: person } })
      assert.isTrue(exit._tag === "Success")
      if (exit._tag !== "Success") return
      assert.deepInclude(exit.success, { text: '{"name":"A', truncated: "the limit" })
      assert.strictEqual(told(events), '{"name":"A')
      assert.strictEqual(requests.length, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("may be any JSON where there is no schema", () =>
    Effect.gen(function* () {
      const any = { name: "any", schema: null }
      const list = yield* runWith({ answers: [says(" [1, 2]\n")], given: { format: any } })
      assert.isTrue(list.exit._tag === "Success" && list.exit.success.text === "[1, 2]")
      const words = yield* runWith({ answers: [says("one"), says("two")], given: { format: any } })
      assert.strictEqual(words.exit._tag, "Failure")
    }).pipe(Effect.provide(layer))
  )

  it.effect("is not asked for again where its schema can't be evaluated", () =>
    Effect.gen(function* () {
      const broken = { name: "broken", schema: { $ref: "#/nowhere" } }
      const { exit, requests } = yield* runWith({ answers: [says("{}")], given: { format: broken } })
      assert.isTrue(exit._tag === "Failure")
      if (exit._tag !== "Failure") return
      assert.isTrue(
        exit.failure._tag === "InvalidOutput" && exit.failure.error.includes("can't be evaluated")
      )
      assert.strictEqual(requests.length, 1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("is not asked for again where its schema takes too long", () =>
    Effect.gen(function* () {
      const slow = { name: "slow", schema: { properties: { a: { pattern: "^(a+)+$" } } } }
      const text = JSON.stringify({ a: `${"a".repeat(40)}!` })
      const { exit, requests } = yield* runWith({ answers: [says(text)], given: { format: slow } })
      assert.isTrue(exit._tag === "Failure")
      if (exit._tag !== "Failure") return
      assert.isTrue(exit.failure._tag === "InvalidOutput" && exit.failure.error.includes("in time"))
      assert.strictEqual(requests.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("takes a step each time that it is asked for", () =>
    Effect.gen(function* () {
      const { exit } = yield* runWith({ answers: [says(bad), says(good)], given: { format: person } })
      assert.isTrue(exit._tag === "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { limit: "steps" })
    }).pipe(
      Effect.provide(
        layerScripted({ maxSteps: 1 }).pipe(
          Layer.provideMerge(Layer.succeed(SchemaCheck.LimitsMillis, [60_000]))
        )
      )
    )
  )
})

describe("The JSON of an answer", () => {
  it("is what stands between the fences, and nothing where there is more", () => {
    for (const text of ["{}", " {}\n", "```\n{}\n```", "```json\n{}```", "```JSON  \r\n{}\r\n```"]) {
      assert.strictEqual(jsonTextOf(text), "{}", JSON.stringify(text))
    }
    for (const text of ["", "```", "``````", "Here: {}", "```json {}```", "{} {}", "NaN"]) {
      assert.isUndefined(jsonValueOf(text), JSON.stringify(text))
    }
    assert.isNull(jsonValueOf("null"))
    assert.isUndefined(jsonValueOf(`${"[".repeat(40)}${"]".repeat(40)}`))
    assert.isUndefined(jsonValueOf(`${"[".repeat(500_000)}${"]".repeat(500_000)}`))
  })

  it("is told in pieces, none of which ends in half a character", () => {
    const text = `${"x".repeat(1_999)}${"😀".repeat(3_000)}`
    const pieces = piecesOf(text)
    assert.strictEqual(pieces.join(""), text)
    assert.isTrue(pieces.length > 3 && pieces.every((piece) => piece.isWellFormed()))
    assert.deepStrictEqual(piecesOf(""), [])
  })
})
