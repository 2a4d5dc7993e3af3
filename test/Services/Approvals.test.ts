import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { notDecided } from "../../src/Schemas/Approval.ts"
import type { AutonomyLevel } from "../../src/Schemas/Autonomy.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { InferenceEvent } from "../../src/Schemas/Inference.ts"
import { isTerminal, type StoredRun } from "../../src/Schemas/Run.ts"
import { Approvals } from "../../src/Services/Approvals.ts"
import * as Engine from "../../src/Services/Engine.ts"
import { Memory } from "../../src/Services/Memory.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { listedFor } from "../support/Listed.ts"
import { layerScripted, makeTenant, ScriptedModel, says } from "../support/Service.ts"

const remember = {
  type: "tool_call",
  call: { id: "c1", name: "remember", arguments: { key: "city", value: "Bonn" } }
} as const
const recall = { type: "tool_call", call: { id: "c2", name: "recall", arguments: {} } } as const
const finish = { type: "finish", usage: { inputTokens: 1, outputTokens: 2 } } as const

/** Lets the executor work until the run is in this state; one that never is fails by its time-out. */
const until = Effect.fnUntraced(function* (id: RunId, isThere: (run: StoredRun) => boolean) {
  const repo = yield* RunRepo
  while (true) {
    const run = Option.getOrThrow(yield* repo.find(id))
    if (isThere(run)) return run
    yield* TestClock.adjust(1)
  }
})
const isWaiting = ({ status }: StoredRun) => status === "WAITING_APPROVAL"
const isOver = ({ status }: StoredRun) => isTerminal(status)

/** A run whose model makes these calls at once, then says what came of it. */
const subject = Effect.fnUntraced(function* (
  {
    autonomyLevel,
    calls
  }: {
    readonly autonomyLevel?: AutonomyLevel
    readonly calls: ReadonlyArray<InferenceEvent>
  } = {
    autonomyLevel: "supervised",
    calls: [remember]
  }
) {
  yield* Layer.build(Engine.layerTasks)
  const model = yield* ScriptedModel
  const tenant = yield* makeTenant()
  model.script = ({ messages }) =>
    Stream.fromIterable<InferenceEvent>(messages.at(-1)?.role === "tool" ? says("done") : [...calls, finish])
  const run = yield* (yield* Runs).create(tenant.user, {
    workspaceId: tenant.workspaceId,
    prompt: "work",
    ...(autonomyLevel !== undefined && { autonomyLevel })
  })
  const approvals = yield* Approvals
  const waiting = approvals.list(tenant.user, { workspaceId: tenant.workspaceId, limit: 50, offset: 0 })
  const entries = Effect.flatMap(Memory, (memory) =>
    listedFor(memory, tenant.user, { workspaceId: tenant.workspaceId })
  )
  return { approvals, entries, id: run.id, model, waiting, ...tenant }
})

describe("Approvals", () => {
  it.effect("of one run are what waits of it, for those who may see it", () =>
    Effect.gen(function* () {
      const { approvals, id, user } = yield* subject({
        autonomyLevel: "supervised",
        calls: [remember, recall]
      })
      yield* until(id, isWaiting)
      const waiting = yield* approvals.waitingOf(user, id)
      assert.deepStrictEqual(
        waiting.map(({ tool }) => tool),
        ["remember", "recall"]
      )
      const [first] = waiting
      if (first !== undefined) yield* approvals.decide(user, first.id, { decision: "reject" })
      assert.deepStrictEqual(yield* approvals.waitingOf(user, id), waiting.slice(1))
      const { user: stranger } = yield* makeTenant()
      assert.deepStrictEqual(yield* approvals.waitingOf(stranger, id), [])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("asks about a call, and makes it once it is allowed", () =>
    Effect.gen(function* () {
      const { approvals, entries, id, model, user, waiting } = yield* subject()
      yield* until(id, isWaiting)
      const [approval, ...rest] = yield* waiting
      assert.deepStrictEqual(rest, [])
      assert.deepInclude(approval, {
        runId: id,
        toolCallId: "c1",
        tool: "remember",
        connector: null,
        address: null,
        description: null,
        arguments: { key: "city", value: "Bonn" },
        status: "PENDING"
      })
      assert.deepStrictEqual(yield* entries, [])
      if (approval === undefined) return
      const decided = yield* approvals.decide(user, approval.id, { decision: "approve" })
      assert.deepInclude(decided, { status: "APPROVED", decidedBy: user.id })
      const run = yield* until(id, isOver)
      assert.deepInclude(run, { status: "COMPLETED", output: "done", attempts: 1 })
      assert.strictEqual((yield* entries).length, 1)
      // The answer that asked for the tools is not asked for again.
      assert.strictEqual(model.requests.length, 2)
      assert.deepStrictEqual(yield* waiting, [])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("tells the model why a call was rejected, and calls nothing", () =>
    Effect.gen(function* () {
      const { approvals, entries, id, model, user, waiting } = yield* subject()
      yield* until(id, isWaiting)
      const [approval] = yield* waiting
      if (approval === undefined) return assert.fail("nothing waits")
      yield* approvals.decide(user, approval.id, { decision: "reject", reason: "not in Bonn" })
      assert.strictEqual((yield* until(id, isOver)).status, "COMPLETED")
      assert.deepStrictEqual(yield* entries, [])
      const last = model.requests[1]?.messages.at(-1)
      const results = last?.role === "tool" ? last.results : []
      assert.deepStrictEqual(
        results.map(({ id, isError }) => [id, isError]),
        [["c1", true]]
      )
      assert.include(String(results[0]?.result), "not in Bonn")
      const again = yield* Effect.flip(approvals.decide(user, approval.id, { decision: "approve" }))
      assert.strictEqual(again._tag, "ApprovalDecided")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("asks about every call when supervised", () =>
    Effect.gen(function* () {
      const { id, waiting } = yield* subject({ autonomyLevel: "supervised", calls: [remember, recall] })
      yield* until(id, isWaiting)
      assert.deepStrictEqual((yield* waiting).map(({ tool }) => tool).toSorted(), ["recall", "remember"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect.each([undefined, "semi-autonomous", "autonomous"] as const)(
    "never asks about what acts within the workspace alone, unless supervised: %s",
    (level) =>
      Effect.gen(function* () {
        const { entries, id, waiting } = yield* subject({
          ...(level !== undefined && { autonomyLevel: level }),
          calls: [remember, recall]
        })
        assert.strictEqual((yield* until(id, isOver)).status, "COMPLETED")
        assert.strictEqual((yield* entries).length, 1)
        assert.deepStrictEqual(yield* waiting, [])
      }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("asks about a call without arguments, and makes it with what it has", () =>
    Effect.gen(function* () {
      const call = { type: "tool_call", call: { ...remember.call, arguments: null } } as const
      const { approvals, id, model, user, waiting } = yield* subject({
        autonomyLevel: "supervised",
        calls: [call]
      })
      yield* until(id, isWaiting)
      const [approval] = yield* waiting
      assert.deepInclude(approval, { tool: "remember", arguments: null })
      yield* approvals.decide(user, approval?.id ?? assert.fail(), { decision: "approve" })
      assert.strictEqual((yield* until(id, isOver)).status, "COMPLETED")
      const last = model.requests[1]?.messages.at(-1)
      assert.isTrue(last?.role === "tool" && last.results[0]?.isError)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("frees the place while it waits", () =>
    Effect.gen(function* () {
      const { id, model, user, workspaceId } = yield* subject()
      yield* until(id, isWaiting)
      model.script = () => Stream.fromIterable(says("next"))
      const other = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
      assert.deepInclude(yield* until(other.id, isOver), { status: "COMPLETED", output: "next" })
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 1, runsPerWorkspace: 1 })))
  )

  it.effect("fails a run that nobody decides about in time", () =>
    Effect.gen(function* () {
      const { approvals, id, user, waiting } = yield* subject()
      yield* until(id, isWaiting)
      const [approval] = yield* waiting
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* until(id, isOver), { status: "FAILED", error: notDecided })
      assert.deepStrictEqual(yield* waiting, [])
      if (approval === undefined) return assert.fail("nothing waited")
      const late = yield* Effect.flip(approvals.decide(user, approval.id, { decision: "approve" }))
      assert.strictEqual(late._tag, "ApprovalDecided")
    }).pipe(Effect.provide(layerScripted({ approvalMillis: 60_000 })))
  )

  it.effect("decides nothing about a run that was cancelled", () =>
    Effect.gen(function* () {
      const { approvals, id, user, waiting } = yield* subject()
      yield* until(id, isWaiting)
      const [approval] = yield* waiting
      assert.strictEqual((yield* (yield* Runs).cancel(user, id)).status, "CANCELLED")
      if (approval === undefined) return assert.fail("nothing waited")
      const late = yield* Effect.flip(approvals.decide(user, approval.id, { decision: "approve" }))
      assert.strictEqual(late._tag, "ApprovalDecided")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is for members of the workspace", () =>
    Effect.gen(function* () {
      const { approvals, id, waiting, workspaceId } = yield* subject()
      yield* until(id, isWaiting)
      const [approval] = yield* waiting
      const stranger = (yield* makeTenant()).user
      const listed = yield* Effect.flip(approvals.list(stranger, { workspaceId, limit: 1, offset: 0 }))
      assert.strictEqual(listed._tag, "Forbidden")
      if (approval === undefined) return assert.fail("nothing waits")
      const decided = yield* Effect.flip(approvals.decide(stranger, approval.id, { decision: "approve" }))
      assert.strictEqual(decided._tag, "NotFound")
    }).pipe(Effect.provide(layerScripted()))
  )
})
