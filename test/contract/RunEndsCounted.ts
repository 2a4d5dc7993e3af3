import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeApproval, makeRun, makeWorkspace } from "../support/Fixtures.ts"
import { endsCounted } from "../support/Metrics.ts"
import { completed, executionOf, minute, subject } from "./RunSubject.ts"
import { makeTurn } from "./RunTurns.ts"

const none = { COMPLETED: 0, FAILED: 0, CANCELLED: 0, done: 0, error: 0 }

/** Which ends are counted while this runs. */
const during = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const before = yield* endsCounted
  yield* effect
  const after = yield* endsCounted
  return Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]))
})

export const suite = (it: It) =>
  describe("RunRepo, what it counts", { concurrent: false }, () => {
    it.effect("counts what is cancelled, in whichever state, once", () =>
      Effect.gen(function* () {
        const { a, claimOne, runs, workspaceId } = yield* subject
        const running = yield* makeRun(workspaceId)
        yield* claimOne(a)
        const waiting = yield* makeRun(workspaceId)
        const { runId } = yield* makeApproval(yield* makeWorkspace)
        for (const id of [running.id, waiting.id, runId]) {
          assert.deepStrictEqual(yield* during(runs.cancel(id, at(1))), { ...none, CANCELLED: 1 })
          assert.deepStrictEqual(yield* during(runs.cancel(id, at(2))), none)
        }
        const turn = yield* makeTurn(workspaceId)
        assert.deepStrictEqual(yield* during(runs.cancel(turn.run.id, at(1))), { ...none, error: 1 })
      })
    )

    it.effect(
      "counts what has lost its worker too often, by whoever finds it, and nothing that goes on",
      () =>
        Effect.gen(function* () {
          const { a, b, claim, runs, takeOver, workspaceId } = yield* subject
          yield* makeRun(workspaceId)
          yield* makeRun(workspaceId)
          yield* claim(a, { leaseMillis: 0 })
          yield* makeTurn(workspaceId, { worker: a, leaseMillis: 0 })
          assert.deepStrictEqual(yield* during(takeOver(b)), none)
          const lost = yield* during(
            Effect.andThen(runs.release(b, { crashed: true, maxCrashes: 1 }), runs.takeOver(turnsOf(a)))
          )
          assert.deepStrictEqual(lost, { ...none, FAILED: 2 })
          const { execution } = yield* makeTurn(workspaceId, { worker: a, leaseMillis: 0 })
          yield* makeRun(workspaceId)
          yield* claim(a, { leaseMillis: 0 })
          const over = yield* during(takeOver(b, { maxCrashes: 1 }))
          assert.deepStrictEqual(over, { ...none, FAILED: 1, error: 1 })
          assert.deepStrictEqual(
            yield* during(runs.finish(execution, completed, { at: at(), firstTokenAt: null })),
            none
          )
          yield* makeRun(workspaceId)
          yield* claim(a)
          assert.deepStrictEqual(yield* during(runs.release(a, { crashed: false, maxCrashes: 1 })), none)
        })
    )

    it.effect("counts what nobody decided about in time", () =>
      Effect.gen(function* () {
        const approvals = yield* ApprovalRepo
        yield* approvals.expire(10_000)
        const { workspaceId } = yield* subject
        yield* makeApproval(workspaceId, { expiresAt: at() })
        yield* makeApproval(workspaceId)
        assert.deepStrictEqual(yield* during(approvals.expire(10_000)), { ...none, FAILED: 1 })
        assert.deepStrictEqual(yield* during(approvals.expire(10_000)), none)
      })
    )

    it.effect(
      "counts the turn that is answering when its conversation is deleted, and none that is over",
      () =>
        Effect.gen(function* () {
          const { a, runs, workspaceId } = yield* subject
          const conversations = yield* ConversationRepo
          for (const start of [undefined, { worker: a, leaseMillis: minute }]) {
            const { conversationId } = yield* makeTurn(workspaceId, start)
            assert.deepStrictEqual(yield* during(conversations.remove(conversationId)), { ...none, error: 1 })
            assert.deepStrictEqual(yield* during(conversations.remove(conversationId)), none)
          }
          const { conversationId, execution } = yield* makeTurn(workspaceId, {
            worker: a,
            leaseMillis: minute
          })
          assert.isTrue(yield* runs.finish(execution, completed, { at: at(), firstTokenAt: null }))
          assert.deepStrictEqual(yield* during(conversations.remove(conversationId)), none)
        })
    )

    it.effect("leaves an end to be counted by who finished the run", () =>
      Effect.gen(function* () {
        const { a, claimOne, runs, workspaceId } = yield* subject
        yield* makeRun(workspaceId)
        const execution = executionOf(a, yield* claimOne(a))
        const finish = runs.finish(execution, completed, { at: at(), firstTokenAt: null })
        assert.deepStrictEqual(yield* during(finish), none)
      })
    )
  })

const turnsOf = (worker: string) => ({
  worker,
  kind: "turn" as const,
  limit: 0,
  leaseMillis: minute,
  maxCrashes: 9
})
