import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { AgentInactive } from "../../../src/Schemas/Agent.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { InferenceError, type InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { RunStatus } from "../../../src/Schemas/Run.ts"
import type { NumberedEvent } from "../../../src/Schemas/RunEvent.ts"
import { RunNotRetryable } from "../../../src/Schemas/RunRetry.ts"
import { Agents } from "../../../src/Services/Agents.ts"
import { Approvals } from "../../../src/Services/Approvals.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import type { SettingsShape } from "../../../src/Services/Settings.ts"
import { ended, start, stored } from "../../support/Engine.ts"
import { codeOf, reader } from "../../support/FollowedRuns.ts"
import { calls, finish, layerScripted, makeTenant, ScriptedModel, says } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"

type Answer = Stream.Stream<InferenceEvent, InferenceError>

const said = (...events: ReadonlyArray<InferenceEvent>): Answer => Stream.fromIterable(events)
const broken: Answer = Stream.concat(
  said({ type: "text", delta: "Once" }),
  Stream.fail(new InferenceError({ reason: "unreachable", error: "the provider is away" }))
)
const cutOff: Answer = said({ type: "text", delta: "Once" }, {
  ...finish,
  truncated: "cut"
} as InferenceEvent)
const done: Answer = said(...says("done"))
const called: Answer = said(...calls("current_time"))
const settings = { maxSteps: 4, modelTimeoutMillis: 5_000, runMaxMillis: 60_000, approvalMillis: 60_000 }

/** A run of which the model answers so, each time that it is asked. */
const subject = Effect.fnUntraced(function* (
  answers: ReadonlyArray<Answer>,
  autonomyLevel: "autonomous" | "supervised" = "autonomous"
) {
  const model = yield* ScriptedModel
  model.script = () => answers[model.requests.length - 1] ?? done
  const { user, workspaceId } = yield* makeTenant()
  const runs = yield* Runs
  yield* start
  const { id } = yield* runs.create(user, { workspaceId, prompt: "work", autonomyLevel })
  const retry = runs.retry(user, id)
  const roles = () => model.requests.map(({ messages }) => messages.map(({ role }) => role).join(" "))
  const steps = Effect.map(runs.get(user, id), ({ steps }) => steps.map(({ type }) => type))
  const read = (after: number) =>
    Effect.flatMap(runs.events(user, id, after), (events) =>
      Option.isNone(events) ? Effect.undefined : Stream.runCollect(events.value)
    )
  return { id, model, read, retry, roles, runs, steps, user, workspaceId }
})

const untilIs = (id: RunId, status: RunStatus) =>
  eventually(
    Effect.andThen(
      TestClock.adjust(1),
      Effect.map(stored(id), (run) => run.status === status)
    ),
    status
  )

const withSettings = (given: Partial<SettingsShape> = {}) =>
  Effect.provide(layerScripted({ ...settings, ...given }))

const first = "user"
const second = "user assistant tool"

describe("A run that is retried", () => {
  it.effect.each<{
    readonly what: string
    readonly code: string
    readonly answers: ReadonlyArray<Answer>
    readonly asked: ReadonlyArray<string>
    readonly tokens?: number
  }>([
    {
      what: "its provider failed at once",
      code: "inference_unreachable",
      answers: [broken],
      asked: [first, first]
    },
    {
      what: "its provider failed later",
      code: "inference_unreachable",
      answers: [called, broken],
      asked: [first, second, second]
    },
    {
      what: "an answer was cut off",
      code: "inference_truncated",
      answers: [called, cutOff],
      asked: [first, second, second],
      tokens: 6
    },
    {
      what: "the first answer was cut off",
      code: "inference_truncated",
      answers: [cutOff, called],
      asked: [first, first, second],
      tokens: 6
    },
    {
      what: "the model was too slow",
      code: "model_time_exceeded",
      answers: [called, Stream.never],
      asked: [first, second, second]
    },
    {
      what: "it broke",
      code: "internal_error",
      answers: [called, Stream.die("a bug")],
      asked: [first, second, second]
    }
  ])(
    "goes on behind its last step where $what",
    ({ answers, asked, code, tokens = 2 * (asked.length - 1) }) =>
      Effect.gen(function* () {
        const { id, retry, roles, runs, steps, user } = yield* subject(answers)
        assert.deepInclude(yield* ended(id, 1_000), { status: "FAILED", errorCode: code })
        const again = yield* retry
        assert.deepInclude(again, {
          status: "PENDING",
          error: null,
          output: null,
          finishedAt: null,
          attempts: 1,
          prompt: "work"
        })
        assert.deepInclude(yield* ended(id), {
          status: "COMPLETED",
          output: "done",
          attempts: 2,
          errorCode: null
        })
        assert.deepStrictEqual(roles(), asked)
        const whole = asked.includes(second) ? ["model", "tool", "model"] : ["model"]
        assert.deepStrictEqual(yield* steps, whole)
        assert.strictEqual((yield* runs.get(user, id)).usage.outputTokens, tokens)
      }).pipe(withSettings())
  )

  it.effect("fails again at once where it has had all its steps, and asks nobody", () =>
    Effect.gen(function* () {
      const { id, retry, roles } = yield* subject([called, called, called])
      const failed = { status: "FAILED", errorCode: "steps_exceeded" } as const
      assert.deepInclude(yield* ended(id), failed)
      yield* retry
      assert.deepInclude(yield* ended(id), { ...failed, attempts: 2 })
      assert.strictEqual(roles().length, 2)
    }).pipe(withSettings())
  )

  it.effect("may work as long as a new one", () =>
    Effect.gen(function* () {
      const slow: Answer = Stream.unwrap(Effect.as(Effect.sleep(7_000), called))
      const { id, retry, roles } = yield* subject([slow, slow, slow])
      assert.deepInclude(yield* ended(id, 1_000), { status: "FAILED", errorCode: "run_time_exceeded" })
      assert.strictEqual(roles().length, 2)
      yield* retry
      assert.deepInclude(yield* ended(id, 1_000), { status: "COMPLETED", attempts: 2 })
      assert.strictEqual(roles().length, 4)
    }).pipe(withSettings({ runMaxMillis: 10_000, modelTimeoutMillis: 60_000, maxSteps: 50 }))
  )

  it.effect("asks people anew where nobody decided, and keeps what was refused", () =>
    Effect.gen(function* () {
      const { id, retry, roles, steps, user, workspaceId } = yield* subject(
        [said(...calls("remember", "current_time"))],
        "supervised"
      )
      const approvals = yield* Approvals
      const waiting = approvals.list(user, { workspaceId, limit: 9, offset: 0 })
      yield* untilIs(id, "WAITING_APPROVAL")
      const remember = (yield* waiting).find(({ tool }) => tool === "remember") ?? assert.fail()
      yield* approvals.decide(user, remember.id, { decision: "reject", reason: "no" })
      yield* TestClock.adjust("2 minutes")
      assert.deepInclude(yield* stored(id), { status: "FAILED", errorCode: "approval_expired" })
      yield* retry
      yield* untilIs(id, "WAITING_APPROVAL")
      const [asked, ...others] = yield* waiting
      assert.deepStrictEqual([asked?.tool, others], ["current_time", []])
      yield* approvals.decide(user, asked?.id ?? assert.fail(), { decision: "approve" })
      assert.deepInclude(yield* ended(id), { status: "COMPLETED" })
      assert.deepStrictEqual(roles(), [first, second])
      assert.deepStrictEqual(yield* steps, ["model", "tool", "tool", "model"])
    }).pipe(withSettings())
  )

  it.effect("goes on where it was cancelled, in the middle of an answer or while it waits for people", () =>
    Effect.gen(function* () {
      const { id, retry, roles, runs, user, workspaceId } = yield* subject(
        [called, Stream.never],
        "autonomous"
      )
      yield* eventually(
        Effect.andThen(
          TestClock.adjust(1),
          Effect.sync(() => roles().length === 2)
        ),
        "it asks again"
      )
      yield* runs.cancel(user, id)
      yield* TestClock.adjust(1)
      yield* retry
      assert.deepInclude(yield* ended(id), { status: "COMPLETED" })
      assert.deepStrictEqual(roles(), [first, second, second])

      const model = yield* ScriptedModel
      model.requests.length = 0
      model.script = () => (model.requests.length === 1 ? called : done)
      const other = yield* runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "supervised" })
      yield* untilIs(other.id, "WAITING_APPROVAL")
      yield* runs.cancel(user, other.id)
      yield* runs.retry(user, other.id)
      yield* untilIs(other.id, "WAITING_APPROVAL")
      assert.strictEqual(model.requests.length, 1)
    }).pipe(withSettings({ modelTimeoutMillis: 600_000 }))
  )

  it.effect("is read on from the end that it had, and ends once for who reads all", () =>
    Effect.gen(function* () {
      const { id, read, retry, runs, user } = yield* subject([called, broken])
      yield* ended(id)
      const before: ReadonlyArray<NumberedEvent> = (yield* read(0)) ?? assert.fail()
      assert.strictEqual(codeOf(before.at(-1)), "inference_unreachable")
      const end = before.at(-1)?.id ?? assert.fail()
      assert.isUndefined(yield* read(end))
      yield* retry
      const { fiber, seen } = yield* reader(Option.getOrThrow(yield* runs.events(user, id, end)))
      yield* ended(id)
      yield* TestClock.adjust("2 seconds")
      assert.isDefined(fiber.pollUnsafe(), "its reader is told of the end")
      assert.isTrue(seen.every((event) => event.id > end))
      assert.strictEqual(codeOf(seen.at(-1)), "done")

      const all = (yield* read(0)) ?? assert.fail()
      const ids = all.map((event) => event.id)
      assert.deepStrictEqual(
        ids,
        Array.from(new Set(ids)).sort((a, b) => a - b)
      )
      assert.deepStrictEqual(
        all.filter(({ event }) => event.event === "error" || event.event === "done").map(codeOf),
        ["done"]
      )
      assert.strictEqual(all.filter(({ event }) => event.event === "tool_call").length, 1)
      // What it said before it failed is void: who reads later sees none of it.
      const texts = all.flatMap(({ event: { data } }) => ("delta" in data ? [data.delta] : []))
      assert.strictEqual(texts.join(""), "done")
      assert.isUndefined(yield* read(all.at(-1)?.id ?? 0))
    }).pipe(withSettings())
  )

  it.effect("has no event with an id that was told, where people had not decided in time", () =>
    Effect.gen(function* () {
      const { id, read, retry, user, workspaceId } = yield* subject([called], "supervised")
      const approvals = yield* Approvals
      yield* untilIs(id, "WAITING_APPROVAL")
      yield* TestClock.adjust("2 minutes")
      const before = (yield* read(0)) ?? assert.fail()
      const end = before.at(-1)?.id ?? assert.fail()
      yield* retry
      yield* untilIs(id, "WAITING_APPROVAL")
      const [asked] = yield* approvals.list(user, { workspaceId, limit: 9, offset: 0 })
      yield* approvals.decide(user, asked?.id ?? assert.fail(), { decision: "approve" })
      yield* ended(id)
      const behind = (yield* read(end)) ?? assert.fail("there is more")
      assert.isTrue(behind.every((event) => event.id > end))
      assert.strictEqual(behind.filter(({ event }) => event.event === "tool_result").length, 1)
    }).pipe(withSettings())
  )

  it.effect("is refused unless it failed or was cancelled, and while its agent is inactive", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      model.script = () => (model.requests.length === 1 ? broken : done)
      const { user, workspaceId } = yield* makeTenant()
      const [agents, runs] = [yield* Agents, yield* Runs]
      yield* start
      const agent = yield* agents.create(user, { workspaceId, name: "a" })
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work", agentId: agent.id })
      yield* ended(id)
      const refusal = Effect.map(Effect.result(runs.retry(user, id)), (result) =>
        Result.isFailure(result) ? result.failure : undefined
      )
      yield* agents.update(user, agent.id, { isActive: false })
      assert.instanceOf(yield* refusal, AgentInactive)
      assert.strictEqual((yield* stored(id)).status, "FAILED")
      yield* agents.update(user, agent.id, { isActive: true })
      const both = yield* Effect.all([refusal, refusal], { concurrency: 2 })
      assert.deepStrictEqual(
        both.map((error) => error instanceof RunNotRetryable),
        [false, true]
      )
      yield* ended(id)
      assert.instanceOf(yield* refusal, RunNotRetryable)
    }).pipe(withSettings())
  )
})
