import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ApprovalId, MessageId, RunId } from "../../src/Schemas/Ids.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import type { It } from "../support/Backends.ts"
import { makeApproval, makeConversation, makeUser, newId, newRun } from "../support/Fixtures.ts"
import { executionOf, idsOf, makeRuns, minute, subject as ofRuns, sweep } from "./RunSubject.ts"

const many = 9

/** Some tasks that `a` executes, the oldest first. */
const subject = Effect.fnUntraced(function* (count: number) {
  const given = yield* ofRuns
  yield* sweep("turn")
  const journal = yield* RunJournal
  const { a, claim, runs, workspaceId } = given
  const tasks = idsOf(yield* makeRuns(workspaceId, count))
  assert.deepStrictEqual(idsOf(yield* claim(a)), tasks)
  const crash = (worker: string, maxCrashes = many) => runs.release(worker, { crashed: true, maxCrashes })
  const begin = (worker: string, kind: "task" | "turn" = "task", leaseMillis = minute) =>
    runs.takeOver({ worker, kind, leaseMillis, limit: 100, maxCrashes: many })
  const finishStep = Effect.fnUntraced(function* (worker: string, id: RunId | undefined) {
    const run = yield* given.find(id ?? assert.fail("there is no such run"))
    const result = { id: "c", name: "t", result: null, isError: false, durationMs: 0 }
    assert.isTrue(yield* journal.record(executionOf(worker, run), run.epoch, { type: "tool", result }))
  })
  /** A turn that this worker executes as well. */
  const startTurn = Effect.fnUntraced(function* (worker: string) {
    const { id: conversationId } = yield* makeConversation(workspaceId)
    const id = yield* newId<RunId>("turn")
    const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
    yield* (yield* ConversationRepo).claimTurn(conversationId, id)
    yield* runs.insert(yield* newRun(workspaceId, { id, turn }), {
      worker,
      leaseMillis: minute,
      perWorkspace: 1_000
    })
    return id
  })
  return { ...given, begin, crash, finishStep, startTurn, tasks }
})

/** As `subject`, and they have been in flight at two crashes. */
const suspects = Effect.fnUntraced(function* (count: number) {
  const given = yield* subject(count)
  const turn = yield* given.startTurn(given.a)
  yield* given.crash(given.a)
  assert.deepStrictEqual(idsOf(yield* given.begin(given.b)), given.tasks, "at once after the first crash")
  assert.deepStrictEqual(idsOf(yield* given.begin(given.b, "turn")), [turn])
  yield* given.crash(given.b)
  return { ...given, c: `${given.a} c`, d: `${given.a} d`, turn }
})

export const suite = (it: It) =>
  describe("RunRepo, losses", { concurrent: false }, () => {
    it.effect("judges all that a worker held together, tasks and turns, and once", () =>
      Effect.gen(function* () {
        const { a, b, begin, runs, startTurn, status, tasks } = yield* subject(2)
        const turn = yield* startTurn(a)
        const held = [...tasks, turn].map((id) => ({ id, epoch: 1 }))
        yield* runs.renew(a, held, 0)
        const options = { leaseMillis: minute, limit: 100, maxCrashes: 2 }
        assert.deepStrictEqual(idsOf(yield* runs.takeOver({ ...options, worker: b })), tasks)
        for (const kind of ["task", "turn"] as const) {
          yield* runs.takeOver({ ...options, worker: `${b} other`, kind, limit: 0 })
        }
        assert.deepStrictEqual(idsOf(yield* begin(b, "turn")), [turn])
        assert.strictEqual(yield* status(turn), "RUNNING")
      })
    )

    it.effect("waits for the last lease of a worker, whatever the kind of its run", () =>
      Effect.gen(function* () {
        const { a, b, begin, runs, startTurn, tasks } = yield* subject(2)
        const turn = yield* startTurn(a)
        yield* runs.renew(
          a,
          tasks.map((id) => ({ id, epoch: 1 })),
          0
        )
        yield* runs.renew(a, [{ id: turn, epoch: 1 }], minute / 2)
        assert.deepStrictEqual(yield* begin(b), [])
        yield* runs.renew(a, [{ id: turn, epoch: 1 }], 0)
        assert.deepStrictEqual(idsOf(yield* begin(b)), tasks)
      })
    )

    it.effect("takes over what a worker left that lives, and counts nothing", () =>
      Effect.gen(function* () {
        const { a, b, runs, status, tasks } = yield* subject(2)
        const [left, kept] = tasks
        if (left === undefined || kept === undefined) return assert.fail()
        yield* runs.renew(a, [{ id: left, epoch: 1 }], -1_000)
        yield* runs.renew(a, [{ id: kept, epoch: 1 }], minute)
        const options = { worker: b, limit: 100, maxCrashes: 1 }
        assert.deepStrictEqual(yield* runs.takeOver({ ...options, leaseMillis: 2 * minute }), [])
        assert.deepStrictEqual(idsOf(yield* runs.takeOver({ ...options, leaseMillis: minute })), [left])
        assert.deepStrictEqual([yield* status(left), yield* status(kept)], ["RUNNING", "RUNNING"])
      })
    )

    it.effect("counts nothing if the caller found the store away after the last sign of life", () =>
      Effect.gen(function* () {
        const { a, b, runs, status, tasks } = yield* subject(2)
        yield* runs.renew(
          a,
          tasks.map((id) => ({ id, epoch: 1 })),
          -1_000
        )
        const options = { leaseMillis: minute, limit: 100, maxCrashes: 1 }
        const taken = yield* runs.takeOver({ ...options, worker: b, awayMillis: minute })
        assert.deepStrictEqual(idsOf(taken), tasks)
        yield* runs.renew(b, taken, -1_000)
        yield* runs.takeOver({ ...options, worker: a, awayMillis: 10 * minute })
        for (const id of tasks) assert.strictEqual(yield* status(id), "FAILED")
      })
    )

    it.effect(
      "begins one suspect at a time, tasks and turns alike, the next when it has finished a step",
      () =>
        Effect.gen(function* () {
          const { begin, c, d, finishStep, status, tasks, turn } = yield* suspects(3)
          assert.deepStrictEqual(idsOf(yield* begin(c)), tasks.slice(0, 1))
          assert.deepStrictEqual([yield* begin(c), yield* begin(c, "turn")], [[], []])
          for (const id of [...tasks, turn]) assert.strictEqual(yield* status(id), "RUNNING")
          assert.deepStrictEqual(idsOf(yield* begin(d)), tasks.slice(1, 2), "another worker begins another")
          yield* finishStep(c, tasks[0])
          assert.deepStrictEqual(idsOf(yield* begin(c, "turn")), [turn])
          assert.deepStrictEqual(yield* begin(c), [])
          yield* finishStep(c, turn)
          assert.deepStrictEqual(idsOf(yield* begin(c)), tasks.slice(2))
        })
    )

    it.effect("counts the suspect alone, which begins again after the others, and alone", () =>
      Effect.gen(function* () {
        const { begin, c, crash, d, finishStep, runs, status, tasks, turn } = yield* suspects(2)
        const [poison, other] = tasks
        if (poison === undefined || other === undefined) return assert.fail()
        yield* begin(c)
        yield* crash(c, 4)
        assert.deepStrictEqual(idsOf(yield* begin(d)), [other])
        yield* finishStep(d, other)
        assert.deepStrictEqual(yield* begin(d), [], "there is a turn with fewer losses")
        assert.deepStrictEqual(idsOf(yield* begin(d, "turn")), [turn])
        yield* finishStep(d, turn)
        assert.deepStrictEqual(yield* begin(d), [], "the other is still in flight")
        assert.deepStrictEqual(yield* begin(c), [], "it rests for two leases")
        assert.deepStrictEqual(idsOf(yield* begin(c, "task", 0)), [poison])
        yield* runs.cancel(turn, new Date())
        yield* crash(c, 4)
        assert.deepStrictEqual([yield* status(poison), yield* status(other)], ["FAILED", "RUNNING"])
      })
    )

    it.effect("begins fresh runs beside a suspect", () =>
      Effect.gen(function* () {
        const { begin, c, claim, tasks, workspaceId } = yield* suspects(1)
        assert.deepStrictEqual(idsOf(yield* begin(c)), tasks)
        const fresh = idsOf(yield* makeRuns(workspaceId, 2))
        assert.deepStrictEqual(idsOf(yield* claim(c)), fresh)
      })
    )

    it.effect("hands back what may begin anywhere; a suspect without a step stays nobody's", () =>
      Effect.gen(function* () {
        const { begin, c, claim, d, finishStep, runs, status, tasks } = yield* suspects(2)
        const [first, second] = tasks
        if (first === undefined || second === undefined) return assert.fail()
        yield* begin(c)
        yield* finishStep(c, first)
        yield* begin(c)
        yield* runs.release(c, { crashed: false, maxCrashes: many })
        assert.deepStrictEqual([yield* status(first), yield* status(second)], ["PENDING", "RUNNING"])
        assert.deepStrictEqual(idsOf(yield* begin(d)), [second])
        assert.deepStrictEqual(idsOf(yield* claim(d)), [first])
      })
    )

    it.effect("counts anew for what was handed back after a step, or was parked", () =>
      Effect.gen(function* () {
        const { begin, c, claim, crash, d, finishStep, find, runs, tasks } = yield* suspects(2)
        const [first, second] = tasks
        if (first === undefined || second === undefined) return assert.fail()
        yield* begin(c)
        yield* finishStep(c, first)
        yield* begin(c)
        const like = yield* makeApproval((yield* find(second)).workspaceId)
        const asked = { ...like, id: yield* newId<ApprovalId>("approval"), runId: second }
        const approvals = yield* ApprovalRepo
        assert.isTrue(yield* approvals.park(executionOf(c, yield* find(second)), [asked]))
        yield* runs.release(c, { crashed: false, maxCrashes: many })
        const { id: decidedBy } = yield* makeUser
        const decision = { status: "APPROVED", reason: null, decidedBy, decidedAt: new Date() } as const
        assert.isTrue(yield* approvals.decide(asked.id, decision))
        assert.deepStrictEqual(idsOf(yield* claim(c)), tasks)
        yield* crash(c)
        assert.deepStrictEqual(idsOf(yield* begin(d)), tasks, "both at once, as after a first crash")
      })
    )

    it.effect("hands back the executions that are named, and no others", () =>
      Effect.gen(function* () {
        const { a, runs, status, tasks } = yield* subject(3)
        const [one, two, three] = tasks
        if (one === undefined || two === undefined || three === undefined) return assert.fail()
        const executions = [
          { id: one, epoch: 1 },
          { id: two, epoch: 2 }
        ]
        yield* runs.release(a, { crashed: false, maxCrashes: many, executions })
        assert.deepStrictEqual(
          [yield* status(one), yield* status(two), yield* status(three)],
          ["PENDING", "RUNNING", "RUNNING"]
        )
      })
    )
  })
