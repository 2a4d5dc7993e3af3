import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import type { EventBatch, NumberedEvent, RunEvent } from "../../src/Schemas/RunEvent.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { append } from "../support/Appended.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, newId, newRun, unicode } from "../support/Fixtures.ts"
import { completed, executionOf, subject as ofRuns, times } from "./RunSubject.ts"

const step: JournalStep = { type: "model", text: "", toolCalls: [], usage: noUsage }
const delta = (text: string): RunEvent => ({ event: "status", data: { status: "responding", delta: text } })
const numbered = (id: number): NumberedEvent => ({ id, event: delta(`${id} ${unicode}`) })
const batch = (first: number, ...rest: ReadonlyArray<number>): EventBatch => [
  numbered(first),
  ...rest.map(numbered)
]

const subject = Effect.gen(function* () {
  const given = yield* ofRuns
  const events = yield* RunEventRepo
  const { id } = yield* makeRun(given.workspaceId)
  const execution = executionOf(given.a, yield* given.claimOne(given.a, 0))
  const read = (after = 0, limit = 100) => events.read(id, after, limit)
  const ids = (after = 0, limit = 100) =>
    Effect.map(read(after, limit), (found) => found.map((event) => event.id))
  return { ...given, events, execution, id, ids, read }
})

export const suite = (it: It) =>
  describe("RunEventRepo", { concurrent: false }, () => {
    it.effect("gives back what was kept, in order, behind any event", () =>
      Effect.gen(function* () {
        const { events, execution, ids, read } = yield* subject
        assert.deepStrictEqual(yield* read(), [])
        assert.isTrue(yield* append(events, execution, [batch(1), batch(2, 3, 4)]))
        assert.isTrue(yield* append(events, execution, [batch(5, 1_000_001)]))
        assert.deepStrictEqual(yield* read(), [1, 2, 3, 4, 5, 1_000_001].map(numbered))
        assert.deepStrictEqual(yield* ids(1), [2, 3, 4, 5, 1_000_001])
        assert.deepStrictEqual(yield* ids(3), [4, 5, 1_000_001])
        assert.deepStrictEqual(yield* ids(4), [5, 1_000_001])
        assert.deepStrictEqual(yield* ids(17), [1_000_001])
        assert.deepStrictEqual(yield* ids(1_000_001), [])
        assert.deepStrictEqual(yield* ids(Number.MAX_SAFE_INTEGER), [])
        assert.deepStrictEqual(yield* ids(0, 2), [1, 2, 3, 4])
        assert.deepStrictEqual(yield* ids(3, 1), [4])
      })
    )

    it.effect("keeps when a run first said something, once", () =>
      Effect.gen(function* () {
        const { events, execution, find, id, runs } = yield* subject
        const approvals = yield* ApprovalRepo
        yield* append(events, execution, [batch(1)], null)
        assert.isNull((yield* find(id)).firstTokenAt)
        yield* append(events, execution, [batch(2)], at(7))
        yield* append(events, execution, [batch(3)], at(8))
        assert.deepStrictEqual((yield* find(id)).firstTokenAt, at(7))
        assert.isFalse(yield* append(events, { ...execution, epoch: 9 }, [batch(4)], at(1)))
        assert.isTrue(yield* approvals.park(execution, [], [], at(9)))
        assert.deepStrictEqual((yield* find(id)).firstTokenAt, at(7))
        yield* runs.cancel(id, at(10))
        assert.deepStrictEqual((yield* find(id)).firstTokenAt, at(7))
      })
    )

    it.effect("says at a glance how far a run is", () =>
      Effect.gen(function* () {
        const { events, execution, id, runs } = yield* subject
        const glance = Effect.map(events.glance([id]), (found) => found.get(id))
        assert.deepStrictEqual(yield* glance, { status: "RUNNING", lastId: 0 })
        yield* append(events, execution, [batch(1), batch(2, 3_000_001)])
        assert.deepStrictEqual(yield* glance, { status: "RUNNING", lastId: 3_000_001 })
        yield* runs.cancel(id, at())
        const ended = { status: "CANCELLED", lastId: 3_000_001 } as const
        assert.deepStrictEqual(yield* glance, ended)
        const gone = yield* newId<RunId>("run")
        assert.deepStrictEqual(Array.from(yield* events.glance([gone, id])), [[id, ended]])
        assert.deepStrictEqual((yield* events.glance([])).size, 0)
      })
    )

    it.effect("keeps a batch once, however often it is written", () =>
      Effect.gen(function* () {
        const { events, execution, ids } = yield* subject
        const journal = yield* RunJournal
        yield* append(events, execution, [batch(1, 2)])
        yield* append(events, execution, [batch(1, 2), batch(3)])
        assert.isTrue(yield* journal.record(execution, 0, step, [batch(3), batch(4)]))
        assert.isTrue(yield* journal.record(execution, 0, step, [batch(3), batch(4)]))
        assert.deepStrictEqual(yield* ids(), [1, 2, 3, 4])
      })
    )

    it.effect("keeps events with the birth, the steps, the parking and the end of a run", () =>
      Effect.gen(function* () {
        const { a, claimOne, events, execution, find, id, ids, runs, workspaceId } = yield* subject
        const approvals = yield* ApprovalRepo
        const journal = yield* RunJournal
        assert.isTrue(yield* journal.record(execution, 0, step, [batch(1)]))
        assert.isTrue(yield* runs.finish(execution, completed, times, [batch(2, 3)]))
        assert.isTrue(yield* runs.finish(execution, completed, times, [batch(2, 3)]))
        assert.deepStrictEqual(yield* ids(), [1, 2, 3])

        const born = yield* newRun(workspaceId)
        yield* runs.insert(born, undefined, [batch(1)])
        const second = executionOf(a, yield* claimOne(a))
        assert.isTrue(yield* approvals.park(second, [], [batch(2)], at(6)))
        assert.isTrue(yield* approvals.park(second, [], [batch(2)], at(7)))
        assert.deepStrictEqual((yield* find(born.id)).firstTokenAt, at(6))
        assert.deepStrictEqual(
          (yield* events.read(born.id, 0, 9)).map((event) => event.id),
          [1, 2]
        )
        assert.deepStrictEqual(yield* ids(), [1, 2, 3], `of ${id} alone`)
      })
    )

    it.effect("takes back the batches from one on", () =>
      Effect.gen(function* () {
        const { events, execution, ids } = yield* subject
        yield* append(events, execution, [batch(1), batch(2, 3), batch(4, 5), batch(6)])
        assert.isTrue(yield* events.truncate(execution, 4, 5))
        assert.deepStrictEqual(yield* ids(), [1, 2, 3, 6])
        assert.isTrue(yield* events.truncate(execution, 4, 6))
        assert.deepStrictEqual(yield* ids(), [1, 2, 3])
        assert.isTrue(yield* append(events, execution, [batch(1_000_001)]))
        assert.deepStrictEqual(yield* ids(2), [3, 1_000_001])
      })
    )

    it.effect("writes nothing for a former execution, or for a run that is over", () =>
      Effect.gen(function* () {
        const { a, b, events, execution, ids, runs, takeOver } = yield* subject
        const approvals = yield* ApprovalRepo
        const journal = yield* RunJournal
        yield* append(events, execution, [batch(1), batch(2)])
        const [taken] = yield* takeOver(b)
        const heir = executionOf(b, taken ?? assert.fail())
        for (const stale of [execution, { ...heir, worker: a }, { ...heir, epoch: 9 }]) {
          assert.isFalse(yield* append(events, stale, [batch(3)]))
          assert.isFalse(yield* events.truncate(stale, 1, 9))
          assert.isFalse(yield* journal.record(stale, 0, step, [batch(3)]))
          assert.isFalse(yield* approvals.park(stale, [], [batch(3)]))
          assert.isFalse(yield* runs.finish(stale, completed, times, [batch(3)]))
        }
        assert.deepStrictEqual(yield* ids(), [1, 2])
        assert.isTrue(yield* append(events, heir, [batch(3)]))
        yield* runs.cancel(heir.id, at())
        assert.isFalse(yield* append(events, heir, [batch(4)]))
        assert.isFalse(yield* events.truncate(heir, 1, 9))
        assert.isFalse(yield* runs.finish(heir, completed, times, [batch(4)]))
        assert.deepStrictEqual(yield* ids(), [1, 2, 3])
      })
    )

    it.effect("forgets the events of a run that is long over, and of no other", () =>
      Effect.gen(function* () {
        const { a, claimOne, events, execution, ids, runs, workspaceId } = yield* subject
        const journal = yield* RunJournal
        yield* journal.record(execution, 0, step, [batch(1)])
        yield* runs.finish(execution, completed, { ...times, at: at(-9_000) })
        yield* makeRun(workspaceId)
        const active = executionOf(a, yield* claimOne(a))
        yield* append(events, active, [batch(1)])
        yield* runs.prune({ eventsBefore: at(-8_000), journalsBefore: at(-10_000), limit: 1_000 })
        assert.deepStrictEqual(yield* ids(), [])
        assert.strictEqual((yield* journal.steps(execution.id)).size, 1)
        assert.strictEqual((yield* events.read(active.id, 0, 9)).length, 1)
        yield* runs.prune({ eventsBefore: at(-8_000), journalsBefore: at(-8_000), limit: 1_000 })
        assert.strictEqual((yield* journal.steps(execution.id)).size, 0)
      })
    )
  })
