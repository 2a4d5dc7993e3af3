import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import type { RunEvent } from "../../../src/Schemas/RunEvent.ts"
import type { ToolDefinition } from "../../../src/Schemas/Tool.ts"
import { nextChoice } from "../../../src/Schemas/TurnInput.ts"
import { runWith, tool } from "../../support/Loop.ts"
import { calls, finish, layerScripted, says } from "../../support/Service.ts"

const own = (name: string, description = name): ToolDefinition => ({
  name,
  description,
  parameters: { type: "object" },
  readOnly: false
})

const shown = (events: ReadonlyArray<RunEvent>) =>
  events.map(({ data, event }) => ("id" in data ? `${event} ${data.id}` : event))

const never = () => Effect.die("nobody is asked about this call")

/** The agent's `echo`, and how often it was called. */
const makeEcho = () => {
  const made = { count: 0 }
  return {
    made,
    echo: tool("echo", (argument) =>
      Effect.sync(() => {
        made.count++
        return argument
      })
    )
  }
}

describe("Tools of the caller", () => {
  it.effect("are shown beside the agent's, and a call of one ends the work without a result", () =>
    Effect.gen(function* () {
      const { echo, made } = makeEcho()
      const { events, exit, requests } = yield* runWith({
        answers: [[{ type: "text", delta: "Let me see." }, ...calls("weather")], says("never asked")],
        tools: [echo],
        given: { tools: [own("weather")] },
        permit: never
      })
      assert.isTrue(exit._tag === "Success")
      assert.deepStrictEqual(
        requests.map(({ tools }) => tools.map(({ name }) => name)),
        [["weather", "echo"]]
      )
      assert.deepStrictEqual(shown(events), ["status", "status", "tool_call call_weather_0"])
      assert.strictEqual(made.count, 0)
      if (exit._tag !== "Success") return
      assert.deepStrictEqual(exit.success, {
        answer: "Let me see.",
        text: "Let me see.",
        transcript: [
          {
            role: "assistant",
            content: "Let me see.",
            toolCalls: [{ id: "call_weather_0", name: "weather", arguments: {} }]
          }
        ],
        truncated: undefined
      })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("wait for the agent's own calls of the same answer", () =>
    Effect.gen(function* () {
      const { echo, made } = makeEcho()
      const { events, exit } = yield* runWith({
        answers: [calls("weather", "echo", "map", "nowhere")],
        tools: [echo],
        given: { tools: [own("weather"), own("map")] }
      })
      assert.deepStrictEqual(shown(events), [
        "status",
        "tool_call call_echo_1",
        "tool_call call_nowhere_3",
        "tool_result call_echo_1",
        "tool_result call_nowhere_3",
        "tool_call call_weather_0",
        "tool_call call_map_2"
      ])
      assert.strictEqual(made.count, 1)
      assert.isTrue(exit._tag === "Success")
      if (exit._tag !== "Success") return
      const [answer, results] = exit.success.transcript
      assert.isTrue(answer?.role === "assistant" && answer.toolCalls.length === 4)
      assert.isTrue(results?.role === "tool")
      if (results?.role !== "tool") return
      assert.deepStrictEqual(
        results.results.map(({ id, isError }) => [id, isError]),
        [
          ["call_echo_1", false],
          ["call_nowhere_3", true]
        ]
      )
      for (const name of ["weather", "map", "echo"]) assert.include(results.results[1]?.result, name)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("win where the agent has one of that name", () =>
    Effect.gen(function* () {
      const { echo, made } = makeEcho()
      const { events, requests } = yield* runWith({
        answers: [calls("echo")],
        tools: [echo],
        given: { tools: [own("echo", "of the caller")] },
        permit: never
      })
      assert.deepStrictEqual(
        requests[0]?.tools.map(({ description }) => description),
        ["of the caller"]
      )
      assert.strictEqual(made.count, 0)
      assert.deepStrictEqual(shown(events), ["status", "tool_call call_echo_0"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are asked for again by nobody who takes the work up, and the agent's calls made by nobody", () =>
    Effect.gen(function* () {
      const { echo, made } = makeEcho()
      const kept = new Map<number, JournalStep>()
      const journal = (finished: ReadonlyMap<number, JournalStep>) => ({
        finished,
        record: (index: number, step: JournalStep) => Effect.sync(() => Boolean(kept.set(index, step)))
      })
      const given = { tools: [own("weather")] }
      const whole = yield* runWith({
        answers: [calls("weather", "echo")],
        tools: [echo],
        given,
        journal: journal(new Map())
      })
      assert.deepStrictEqual([...kept.keys()], [0, 1])
      for (const steps of [1, 2]) {
        made.count = 0
        const again = yield* runWith({
          answers: [],
          tools: [echo],
          given,
          journal: journal(new Map([...kept].slice(0, steps)))
        })
        assert.strictEqual(made.count, 2 - steps)
        assert.strictEqual(again.requests.length, 1)
        assert.isTrue(again.exit._tag === "Success" && whole.exit._tag === "Success")
        if (again.exit._tag !== "Success" || whole.exit._tag !== "Success") return
        const ids = (result: typeof again.exit.success) =>
          result.transcript.map((one) => (one.role === "tool" ? one.results.map(({ id }) => id) : one.role))
        assert.deepStrictEqual(ids(again.exit.success), ids(whole.exit.success))
      }
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("take no step, and too many of them in one answer end the work as others do", () =>
    Effect.gen(function* () {
      const given = { tools: [own("weather")] }
      const fits = yield* runWith({ answers: [calls("weather", "weather")], given })
      assert.strictEqual(fits.exit._tag, "Success")
      const over = yield* runWith({ answers: [calls("weather", "weather", "weather")], given })
      assert.isTrue(over.exit._tag === "Failure")
      if (over.exit._tag === "Failure") assert.deepInclude(over.exit.failure, { limit: "steps" })
      const agents = yield* runWith({ answers: [calls("weather", "echo", "echo")], given })
      assert.isTrue(agents.exit._tag === "Failure")
    }).pipe(Effect.provide(layerScripted({ maxSteps: 2 })))
  )

  it.effect("count to the size of the output", () =>
    Effect.gen(function* () {
      const call = { id: "c", name: "weather", arguments: { text: "x".repeat(100) } }
      const { exit } = yield* runWith({
        answers: [[{ type: "tool_call", call }, finish]],
        given: { tools: [own("weather")] }
      })
      assert.isTrue(exit._tag === "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { limit: "output" })
    }).pipe(Effect.provide(layerScripted({ maxOutputLength: 50 })))
  )

  it.effect("are 128 at most with the agent's, which are left out first", () =>
    Effect.gen(function* () {
      const many = (count: number) => Array.from({ length: count }, (_, n) => own(`own_${n}`))
      const { echo } = makeEcho()
      const full = yield* runWith({ answers: [says("ok")], tools: [echo], given: { tools: many(128) } })
      assert.isTrue(full.requests[0]?.tools.length === 128 && full.requests[0].tools[127]?.name === "own_127")
      for (const tools of [many(129), [own("long", "x".repeat(500_000))]]) {
        const over = yield* runWith({ answers: [says("ok")], tools: [echo], given: { tools } })
        assert.isTrue(over.exit._tag === "Failure")
        if (over.exit._tag === "Failure") assert.deepInclude(over.exit.failure, { reason: "context_length" })
      }
      assert.strictEqual(full.requests.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("What is asked of an answer", () => {
  const asked = ({ format, sampling, toolChoice }: object & Record<string, unknown>) => ({
    format,
    sampling,
    toolChoice
  })

  it.effect("goes with each question, and with none where nothing is asked", () =>
    Effect.gen(function* () {
      const sampling = { temperature: 0.5, stop: ["x"], maxOutputTokens: 9 }
      const answers: ReadonlyArray<ReadonlyArray<InferenceEvent>> = [calls("echo"), says("ok")]
      const { requests } = yield* runWith({ answers, given: { sampling, toolChoice: { name: "echo" } } })
      assert.deepStrictEqual(
        requests.map((request) => asked({ ...request })),
        [
          { format: undefined, sampling, toolChoice: { name: "echo" } },
          { format: undefined, sampling, toolChoice: undefined }
        ]
      )
      const plain = yield* runWith({ answers })
      assert.deepStrictEqual(Object.keys(plain.requests.at(-1) ?? {}).sort(), ["messages", "system", "tools"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it("is a call of the caller's for as long as it wants one", () => {
    const tools = [own("weather")]
    for (const toolChoice of ["required", { name: "weather" }] as const) {
      assert.deepStrictEqual(nextChoice({ tools, toolChoice }, true), toolChoice)
    }
    assert.strictEqual(nextChoice({ tools, toolChoice: { name: "echo" } }, true), "auto")
    assert.deepStrictEqual(nextChoice({ tools, toolChoice: { name: "echo" } }, false), { name: "echo" })
    assert.strictEqual(nextChoice({ tools: [], toolChoice: "required" }, true), "auto")
    assert.strictEqual(nextChoice({ tools: [], toolChoice: "required" }, false), "required")
    assert.strictEqual(nextChoice({ tools, toolChoice: "none" }, true), "none")
  })
})
