import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { StoredApproval } from "../../src/Schemas/Approval.ts"
import { Approval, toApproval } from "../../src/Schemas/Approval.ts"
import type { ApprovalId, RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { RunDetail, toRunDetail } from "../../src/Schemas/Run.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeApproval,
  makeProject,
  makeRun,
  makeUser,
  makeWorkspace,
  newId,
  newRun,
  unicode
} from "../support/Fixtures.ts"
import { eventsOf, makeWebhook, messagesOf, typesOf } from "../support/Told.ts"
import { completed, failed, minute, times } from "./RunSubject.ts"
import { makeTurn } from "./RunTurns.ts"

const shownRun = (run: RunDetail) =>
  Schema.encodeSync(Schema.toCodecJson(RunDetail))(run) as Schema.JsonObject
const shownApproval = Schema.encodeSync(Schema.toCodecJson(Approval))

const answer: JournalStep = {
  type: "model",
  text: "A",
  toolCalls: [],
  usage: { inputTokens: 30, outputTokens: 4 },
  answeredBy: { provider: "openai", model: "gpt-5", providerKeyId: null }
}

const subject = Effect.gen(function* () {
  const runs = yield* RunRepo
  const journal = yield* RunJournal
  const workspaceId = yield* makeWorkspace
  const webhook = yield* makeWebhook(workspaceId)
  const worker = yield* newId<string>("run")
  const begin = Effect.fnUntraced(function* (given: Parameters<typeof newRun>[1] = {}) {
    const run = yield* newRun(workspaceId, given)
    assert.isTrue(yield* runs.insert(run, { worker, leaseMillis: minute, perWorkspace: 1_000 }))
    return { id: run.id, worker, epoch: 1 }
  })
  /** What the API shows of a run, but for its steps. */
  const shown = Effect.fnUntraced(function* (id: RunId) {
    const run = Option.getOrThrow(yield* runs.find(id))
    const { steps: _, ...rest } = shownRun(toRunDetail(run, yield* journal.steps(id)))
    return rest
  })
  const told = messagesOf(webhook)
  const types = typesOf(webhook)
  return { begin, journal, runs, shown, told, types, webhook, worker, workspaceId }
})

const ofEnds = (it: It) => {
  it.effect("tells that a run is COMPLETED as the API shows it, once however often that is written", () =>
    Effect.gen(function* () {
      const { begin, journal, runs, shown, told, workspaceId } = yield* subject
      const execution = yield* begin({
        prompt: unicode,
        agentId: (yield* makeAgent(workspaceId)).id,
        projectId: (yield* makeProject(workspaceId)).id
      })
      assert.isTrue(yield* journal.record(execution, 0, answer))
      for (let n = 0; n < 2; n++) {
        assert.isTrue(
          yield* runs.finish(execution, { ...completed, output: unicode, usage: answer.usage }, times)
        )
      }
      const [message, ...others] = yield* told
      assert.deepStrictEqual(others, [])
      assert.strictEqual(message?.type, "run.completed")
      assert.strictEqual(JSON.stringify(message?.data), JSON.stringify(yield* shown(execution.id)))
    })
  )

  it.effect("tells of each of many runs that end together", () =>
    Effect.gen(function* () {
      const { begin, runs, told } = yield* subject
      const executions = yield* Effect.all(Array.from({ length: 40 }, () => begin()))
      yield* Effect.forEach(
        executions,
        (execution, n) => runs.finish(execution, n % 2 === 0 ? completed : failed, times),
        { concurrency: "unbounded" }
      )
      const messages = yield* told
      assert.deepStrictEqual(
        messages.map(({ data, type }) => `${type} ${data.id}`).sort(),
        executions.map(({ id }, n) => `run.${n % 2 === 0 ? "completed" : "failed"} ${id}`).sort()
      )
    })
  )

  it.effect("tells of a run that is given up, with what its steps used", () =>
    Effect.gen(function* () {
      const { begin, journal, runs, shown, told, worker } = yield* subject
      const execution = yield* begin()
      assert.isTrue(yield* journal.record(execution, 0, answer))
      yield* runs.release(worker, { crashed: true, maxCrashes: 0 })
      const [message, ...others] = yield* told
      assert.deepStrictEqual([message?.type, others], ["run.failed", []])
      assert.deepStrictEqual(message?.data.usage, answer.usage)
      assert.deepStrictEqual(message?.data, yield* shown(execution.id))
    })
  )

  it.effect("tells of a run that is cancelled, once, whether or not it began", () =>
    Effect.gen(function* () {
      const { begin, runs, shown, told, workspaceId } = yield* subject
      const running = yield* begin()
      const waiting = yield* makeRun(workspaceId)
      for (const { id } of [waiting, running, running, waiting]) yield* runs.cancel(id, at(9))
      assert.isFalse(yield* runs.finish(running, completed, times))
      const messages = yield* told
      assert.deepStrictEqual(
        messages.map(({ data, type }) => [type, data]),
        [
          ["run.cancelled", yield* shown(waiting.id)],
          ["run.cancelled", yield* shown(running.id)]
        ]
      )
    })
  )

  it.effect("tells again of a run that is retried, and of nothing else that becomes of one", () =>
    Effect.gen(function* () {
      const { begin, runs, types, worker } = yield* subject
      const first = yield* begin()
      assert.isTrue(yield* runs.finish(first, failed, times))
      yield* runs.retry(first.id, at(70))
      assert.deepStrictEqual(yield* types, ["run.failed"])
      const claimed = yield* runs.claim({ worker, leaseMillis: minute, limit: 1_000, perWorkspace: 1_000 })
      const again = claimed.find(({ id }) => id === first.id)
      yield* runs.renew(worker, claimed, minute)
      if (again === undefined) return assert.fail("nothing was claimed")
      yield* runs.release(worker, { crashed: false, maxCrashes: 9 })
      yield* runs.cancel(first.id, at(80))
      assert.deepStrictEqual(yield* types, ["run.failed", "run.cancelled"])
    })
  )

  it.effect("tells nothing of what is undone", () =>
    Effect.gen(function* () {
      const { begin, runs, types } = yield* subject
      const { id } = yield* begin()
      const { atomically } = yield* Transaction
      const undone = Effect.andThen(runs.cancel(id, at(9)), Effect.fail("undone" as const))
      assert.strictEqual(yield* Effect.flip(atomically(undone)), "undone")
      assert.deepStrictEqual(yield* types, [])
      yield* runs.cancel(id, at(9))
      assert.deepStrictEqual(yield* types, ["run.cancelled"])
    })
  )

  it.effect("tells those alone who want it: active ones of the workspace", () =>
    Effect.gen(function* () {
      const { begin, runs, told, workspaceId } = yield* subject
      const wants = yield* makeWebhook(workspaceId, ["turn.completed", "run.completed"])
      const others = [
        yield* makeWebhook(workspaceId, ["run.failed", "turn.completed"]),
        yield* makeWebhook(workspaceId, []),
        yield* makeWebhook(workspaceId, ["*"], { isActive: false }),
        yield* makeWebhook(workspaceId, ["*"], { isGone: true }),
        yield* makeWebhook(yield* makeWorkspace)
      ]
      assert.isTrue(yield* runs.finish(yield* begin(), completed, times))
      assert.deepStrictEqual(yield* messagesOf(wants), yield* told)
      assert.strictEqual((yield* told).length, 1)
      for (const other of others) assert.deepStrictEqual(yield* messagesOf(other), [])
    })
  )

  it.effect("cuts what is long, and keeps nothing of it that the API does not show", () =>
    Effect.gen(function* () {
      const { begin, runs, told } = yield* subject
      const long = `${"é".repeat(8_191)}x👩‍🚀${"z".repeat(100_000)}`
      assert.isTrue(yield* runs.finish(yield* begin(), { ...completed, output: long }, times))
      const [message] = yield* told
      assert.strictEqual(message?.data.output, `${"é".repeat(8_191)}x`)
      assert.strictEqual(message?.data.truncated, true)
      assert.notProperty(message?.data, "worker")
      assert.notProperty(message?.data, "epoch")
    })
  )
}

const ofTurns = (it: It) => {
  it.effect("tells of turns that end, and of none that is cancelled", () =>
    Effect.gen(function* () {
      const { runs, shown, told, worker, workspaceId } = yield* subject
      const start = { worker, leaseMillis: minute }
      const turns = [
        yield* makeTurn(workspaceId, start),
        yield* makeTurn(workspaceId, start),
        yield* makeTurn(workspaceId, start)
      ] as const
      assert.isTrue(yield* runs.finish(turns[0].execution, completed, times))
      assert.isTrue(yield* runs.finish(turns[1].execution, failed, times))
      assert.isTrue(yield* runs.cancel(turns[2].run.id, at(9)))
      const expected = Effect.fnUntraced(function* ({ run }: (typeof turns)[number]) {
        const { conversationId, replyId: messageId } = run.turn ?? assert.fail()
        return { ...(yield* shown(run.id)), conversationId, messageId }
      })
      assert.deepStrictEqual(
        (yield* told).map(({ data, type }) => [type, data]),
        [
          ["turn.completed", yield* expected(turns[0])],
          ["turn.failed", yield* expected(turns[1])]
        ]
      )
    })
  )
}

const ofApprovals = (it: It) => {
  const another = Effect.fnUntraced(function* (first: StoredApproval, given: Partial<StoredApproval> = {}) {
    const id = yield* newId<ApprovalId>("approval")
    return { ...first, id, toolCallId: "call_2", createdAt: at(1), ...given }
  })

  it.effect("tells what a run waits for, and what a person decided", () =>
    Effect.gen(function* () {
      const { shown, told, workspaceId } = yield* subject
      const approvals = yield* ApprovalRepo
      const { id: decidedBy } = yield* makeUser
      const approval = yield* makeApproval(workspaceId, { arguments: { [unicode]: [1, null, unicode] } })
      const [parked, ...none] = yield* told
      assert.deepStrictEqual([parked?.type, none], ["run.waiting_approval", []])
      assert.deepStrictEqual(parked?.data, {
        ...(yield* shown(approval.runId)),
        approvals: [shownApproval(toApproval(approval))]
      } as unknown)
      const decision = { status: "APPROVED" as const, reason: unicode, decidedBy, decidedAt: at(5) }
      assert.isTrue(yield* approvals.decide(approval.id, decision))
      assert.isFalse(yield* approvals.decide(approval.id, { ...decision, status: "REJECTED" }))
      const [, decided, ...others] = yield* told
      assert.deepStrictEqual([decided?.type, others], ["approval.decided", []])
      const found = Option.getOrThrow(yield* approvals.find(approval.id))
      assert.strictEqual(JSON.stringify(decided?.data), JSON.stringify(shownApproval(toApproval(found))))
      const elsewhere = yield* makeWorkspace
      const webhook = yield* makeWebhook(elsewhere, ["approval.decided"])
      const rejected = yield* makeApproval(elsewhere)
      assert.isTrue(yield* approvals.decide(rejected.id, { ...decision, status: "REJECTED" }))
      assert.deepStrictEqual(
        (yield* messagesOf(webhook)).map(({ data }) => data.status),
        ["REJECTED"]
      )
    })
  )

  it.effect("tells of a turn that waits, and of a run of which nobody decided in time", () =>
    Effect.gen(function* () {
      const { told, types, worker, workspaceId } = yield* subject
      const approvals = yield* ApprovalRepo
      const { execution, run } = yield* makeTurn(workspaceId, { worker, leaseMillis: minute })
      const late = yield* makeApproval(workspaceId, { expiresAt: at() })
      const two = [
        yield* another(late, { runId: run.id, createdAt: at(2) }),
        yield* another(late, { runId: run.id, toolCallId: "call_1" })
      ]
      assert.isTrue(yield* approvals.park(execution, two))
      assert.isTrue(yield* approvals.park(execution, two))
      const [, parked, ...none] = yield* told
      assert.deepStrictEqual([parked?.type, none], ["run.waiting_approval", []])
      assert.strictEqual(parked?.data.conversationId, run.turn?.conversationId)
      const waited = parked?.data.approvals as unknown as ReadonlyArray<Approval>
      assert.deepStrictEqual(
        waited.map(({ id }) => id),
        [two[1]?.id, two[0]?.id]
      )
      yield* approvals.expire(1_000)
      const all = yield* types
      assert.deepStrictEqual(all.slice(2).sort(), ["run.failed", "turn.failed"])
    })
  )

  it.effect("keeps in which trace a run was made with all that it tells of it", () =>
    Effect.gen(function* () {
      const { begin, webhook, workspaceId } = yield* subject
      const approvals = yield* ApprovalRepo
      const { id: decidedBy } = yield* makeUser
      const first = yield* makeApproval(yield* makeWorkspace)
      const begun = yield* Effect.forEach(
        [null, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
        (traceparent) => Effect.map(begin({ traceparent }), (execution) => ({ execution, traceparent }))
      )
      for (const { execution, traceparent } of begun) {
        const asked = yield* another(first, { runId: execution.id, workspaceId })
        assert.isTrue(yield* approvals.park(execution, [asked]))
        const decision = { status: "APPROVED" as const, reason: null, decidedBy, decidedAt: at(5) }
        assert.isTrue(yield* approvals.decide(asked.id, decision))
        const told = yield* eventsOf(webhook)
        assert.deepStrictEqual(
          told.slice(-2).map((event) => [event.type, event.traceparent]),
          [
            ["run.waiting_approval", traceparent],
            ["approval.decided", traceparent]
          ]
        )
      }
    })
  )

  it.effect("shows as much as is bounded of many approvals, and of long arguments", () =>
    Effect.gen(function* () {
      const { begin, told } = yield* subject
      const approvals = yield* ApprovalRepo
      const first = yield* makeApproval(yield* makeWorkspace)
      const execution = yield* begin()
      const given = yield* Effect.all(
        Array.from({ length: 30 }, (_, n) =>
          another(first, {
            runId: execution.id,
            toolCallId: `call_${n}`,
            createdAt: at(n),
            arguments: n < 2 ? { text: "é".repeat(20_000 + n * 20_000) } : { n }
          })
        )
      )
      assert.isTrue(yield* approvals.park(execution, given))
      const [message] = yield* told
      const waited = message?.data.approvals as unknown as ReadonlyArray<Approval>
      assert.strictEqual(message?.data.truncated, true)
      assert.deepStrictEqual(
        waited.map(({ toolCallId }) => toolCallId),
        Array.from({ length: 20 }, (_, n) => `call_${n}`)
      )
      for (const { arguments: cut } of waited.slice(0, 2)) {
        assert.match(String(cut), /^\{"text": ?"é+$/u)
        assert.isAtMost(Buffer.byteLength(String(cut)), 16 * 1024)
      }
      assert.deepStrictEqual(waited[2]?.arguments, { n: 2 })
    })
  )
}

export const suite = (it: It) =>
  describe("webhooks, what they are told of runs", { concurrent: false }, () => {
    ofEnds(it)
    ofTurns(it)
    ofApprovals(it)
  })
