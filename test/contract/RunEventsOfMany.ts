import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { EventBatch, NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import { type EventWrite, RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import type { Execution } from "../../src/Services/RunRepo.ts"
import { append } from "../support/Appended.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, newId } from "../support/Fixtures.ts"
import { completed, executionOf, subject as ofRuns, times } from "./RunSubject.ts"

const numbered = (id: number, text = `${id}`): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: text } }
})
const batch = (first: number, ...rest: ReadonlyArray<number>): EventBatch => [
  numbered(first),
  ...rest.map((id) => numbered(id))
]
const write = (
  execution: Execution,
  batches: ReadonlyArray<EventBatch>,
  firstTokenAt: Date | null = null
): EventWrite => ({ execution, batches, firstTokenAt })

/** Three runs that are executed. */
const subject = Effect.gen(function* () {
  const given = yield* ofRuns
  const events = yield* RunEventRepo
  const executions: Array<Execution> = []
  for (let n = 0; n < 3; n++) {
    yield* makeRun(given.workspaceId)
    executions.push(executionOf(given.a, yield* given.claimOne(given.a)))
  }
  const [one, two, three] = executions
  if (one === undefined || two === undefined || three === undefined) return assert.fail()
  const ids = ({ id }: Execution) =>
    Effect.map(events.read(id, 0, 100), (found) => found.map((event) => event.id))
  return { ...given, events, ids, one, two, three }
})

export const suite = (it: It) =>
  describe("RunEventRepo for many runs", { concurrent: false }, () => {
    it.effect("keeps what many executions told, each as if alone", () =>
      Effect.gen(function* () {
        const { a, events, find, ids, one, three, two } = yield* subject
        assert.deepStrictEqual(
          yield* events.append([
            write(one, [batch(1), batch(2, 3)], at(7)),
            write({ ...two, epoch: 9 }, [batch(1)], at(7)),
            write({ ...three, worker: `${a} other` }, [batch(1)]),
            write({ id: yield* newId<RunId>("run"), worker: a, epoch: 1 }, [batch(1)]),
            write(two, [batch(4)])
          ]),
          ["kept", "lost", "lost", "lost", "kept"]
        )
        assert.deepStrictEqual([yield* ids(one), yield* ids(two), yield* ids(three)], [[1, 2, 3], [4], []])
        assert.deepStrictEqual((yield* find(one.id)).firstTokenAt, at(7))
        assert.isNull((yield* find(two.id)).firstTokenAt)
        assert.deepStrictEqual(yield* events.append([]), [])
      })
    )

    it.effect("keeps a batch of many once, and nothing of a run that is over", () =>
      Effect.gen(function* () {
        const { events, find, ids, one, runs, two } = yield* subject
        const both = [write(one, [batch(1, 2)], at(7)), write(two, [batch(1)])]
        yield* events.append(both)
        assert.deepStrictEqual(
          yield* events.append([write(one, [batch(1, 2), batch(3)], at(8)), write(two, [batch(1)])]),
          ["kept", "kept"]
        )
        assert.deepStrictEqual((yield* find(one.id)).firstTokenAt, at(7))
        yield* runs.cancel(two.id, at())
        assert.deepStrictEqual(yield* events.append([write(one, [batch(4)]), write(two, [batch(2)])]), [
          "kept",
          "lost"
        ])
        assert.deepStrictEqual([yield* ids(one), yield* ids(two)], [[1, 2, 3, 4], [1]])
      })
    )

    it.effect("shows many readers what comes next, and how far their runs are", () =>
      Effect.gen(function* () {
        const { events, one, runs, three, two } = yield* subject
        yield* append(events, one, [batch(1), batch(2, 3), batch(4)])
        yield* append(events, two, [batch(1, 2, 3)])
        yield* runs.finish(two, completed, times, [batch(1_000_001)])
        const gone = yield* newId<RunId>("run")
        const looks = yield* events.look(
          [
            { id: one.id, after: 0 },
            { id: one.id, after: 2 },
            { id: gone, after: 0 },
            { id: two.id, after: 2 },
            { id: three.id, after: 0 },
            { id: two.id, after: 1_000_001 },
            { id: one.id, after: Number.MAX_SAFE_INTEGER }
          ],
          2
        )
        const running = { status: "RUNNING", lastId: 4 } as const
        const over = { status: "COMPLETED", lastId: 1_000_001 } as const
        assert.deepStrictEqual(looks, [
          { ...running, events: [1, 2, 3].map((id) => numbered(id)), isWhole: false },
          { ...running, events: [3, 4].map((id) => numbered(id)), isWhole: true },
          undefined,
          { ...over, events: [3, 1_000_001].map((id) => numbered(id)), isWhole: true },
          { status: "RUNNING", lastId: 0, events: [], isWhole: true },
          { ...over, events: [], isWhole: true },
          { ...running, events: [], isWhole: true }
        ])
        assert.deepStrictEqual(yield* events.look([], 2), [])
      })
    )

    it.effect("has something for one reader at least, however much there is", () =>
      Effect.gen(function* () {
        const { events, one, three, two } = yield* subject
        // It does not compress.
        const long = Array.from({ length: 90_000 }, (_, n) =>
          ((n * 2_654_435_761) % 4_294_967_296).toString(36)
        )
        const large = (id: number): EventBatch => [numbered(id, `${long.join("")}${long.reverse().join("")}`)]
        for (const execution of [one, two, three]) yield* append(events, execution, [1, 2, 3, 4].map(large))
        const after = new Map([one, two, three].map(({ id }) => [id, 0]))
        let looks = 0
        while (Array.from(after.values()).some((last) => last < 4)) {
          const asked = Array.from(after, ([id, last]) => ({ id, after: last })).filter(
            (ask) => ask.after < 4
          )
          const found = yield* events.look(asked, 25)
          assert.isTrue(found.some((look) => look !== undefined && look.events.length > 0))
          found.forEach((look, n) => {
            const { after: last, id } = asked[n] ?? assert.fail()
            const told = look?.events.map((event) => event.id) ?? assert.fail()
            assert.deepStrictEqual(told, [1, 2, 3, 4].slice(last, last + told.length))
            assert.strictEqual(look?.isWhole, last + told.length === 4)
            after.set(id, last + told.length)
          })
          looks++
        }
        assert.isAtMost(looks, 12)
      })
    )
  })
