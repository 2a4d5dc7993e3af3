import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, makeWorkspace, newId } from "../support/Fixtures.ts"
import { completed, executionOf, idsOf, makeRuns, subject, times } from "./RunSubject.ts"

const shares = (claimed: ReadonlyArray<StoredRun>, ...workspaces: ReadonlyArray<WorkspaceId>) =>
  workspaces.map((id) => claimed.filter(({ workspaceId }) => workspaceId === id).length)

export const suite = (it: It) =>
  describe("RunRepo, fairness", { concurrent: false }, () => {
    it.effect("takes from a workspace of few runs beside one of many that wait longer", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId: many } = yield* subject
        const few = yield* makeWorkspace
        const [ofMany, ofFew] = [yield* makeRuns(many, 10), yield* makeRuns(few, 3, 1_000)]
        const claimed = yield* claim(a, { limit: 4 })
        assert.deepStrictEqual(shares(claimed, many, few), [2, 2])
        assert.deepStrictEqual(idsOf(claimed), [...idsOf(ofMany).slice(0, 2), ...idsOf(ofFew).slice(0, 2)])
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 4 }), many, few), [3, 1])
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 9 }), many, few), [3, 0])
      })
    )

    it.effect("takes from the workspaces with the fewest RUNNING first", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId: busy } = yield* subject
        yield* makeRuns(busy, 10)
        assert.strictEqual((yield* claim(a, { limit: 3 })).length, 3)
        const [idle, other] = [yield* makeWorkspace, yield* makeWorkspace]
        yield* makeRuns(idle, 5, 1_000)
        yield* makeRuns(other, 5, 1_000)
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 4 }), busy, idle, other), [0, 2, 2])
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 5 }), busy, idle, other), [1, 2, 2])
      })
    )

    it.effect("leaves a full workspace out, whatever waits in it", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId: full } = yield* subject
        yield* makeRuns(full, 10)
        assert.strictEqual((yield* claim(a, { perWorkspace: 2 })).length, 2)
        const other = yield* makeWorkspace
        yield* makeRuns(other, 1, 1_000)
        assert.deepStrictEqual(shares(yield* claim(a, { perWorkspace: 2 }), full, other), [0, 1])
      })
    )

    it.effect("lets workspaces take turns where each may have one run at once", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId: one } = yield* subject
        const two = yield* makeWorkspace
        yield* makeRuns(one, 5)
        yield* makeRuns(two, 5, 1_000)
        const taken: Array<StoredRun> = []
        for (let turn = 0; turn < 2; turn++) {
          const claimed = yield* claim(a, { limit: 1, perWorkspace: 1 })
          for (const run of claimed) yield* runs.finish(executionOf(a, run), completed, times)
          taken.push(...claimed)
        }
        assert.deepStrictEqual(shares(taken, one, two), [1, 1])
      })
    )

    it.effect("takes from more workspaces than it may take runs, one each", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId } = yield* subject
        const workspaces = [workspaceId, ...(yield* Effect.replicateEffect(makeWorkspace, 5))]
        for (const each of workspaces) yield* makeRuns(each, 2)
        const first = yield* claim(a, { limit: 4 })
        const second = yield* claim(a, { limit: 2 })
        assert.deepStrictEqual(shares([...first, ...second], ...workspaces), [1, 1, 1, 1, 1, 1])
      })
    )

    it.effect("prefers few RUNNING ones to a long wait, also where it may take but one", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId: busy } = yield* subject
        yield* makeRuns(busy, 2)
        yield* claim(a, { limit: 1 })
        const idle = yield* makeWorkspace
        const [first] = yield* makeRuns(idle, 2, 1_000)
        const [claimed] = yield* claim(a, { limit: 1 })
        assert.strictEqual(claimed?.id, first?.id)
        yield* runs.finish(executionOf(a, claimed ?? assert.fail()), completed, times)
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 1 }), busy, idle), [0, 1])
      })
    )

    it.effect("takes one more from the workspace that was served longer ago, whose runs are newer", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId: served } = yield* subject
        yield* makeRuns(served, 4)
        for (const run of yield* claim(a, { limit: 1 })) {
          yield* runs.finish(executionOf(a, run), completed, times)
        }
        const other = yield* makeWorkspace
        yield* makeRuns(other, 3, 1_000)
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 3 }), served, other), [1, 2])
      })
    )

    it.effect.each<[string, number, number]>([
      ["older ones", 0, 1_000],
      ["older ones", 1_000, 0],
      ["a lower id", 0, 0]
    ])("takes one more from the workspace of %s where none was served yet (%d, %d)", ([, one, two]) =>
      Effect.gen(function* () {
        const { a, claim } = yield* subject
        const workspaces = yield* Effect.replicateEffect(makeWorkspace, 2)
        const [first, second] = workspaces
        if (first === undefined || second === undefined) return assert.fail()
        const made = (from: number) => (workspaceId: WorkspaceId) =>
          Effect.replicateEffect(makeRun(workspaceId, { createdAt: at(from) }), 2)
        yield* made(one)(first)
        yield* made(two)(second)
        const claimed = yield* claim(a, { limit: 3 })
        assert.deepStrictEqual(shares(claimed, first, second), one <= two ? [2, 1] : [1, 2])
      })
    )

    it.effect("takes the lower of two ids, whichever was stored first", () =>
      Effect.gen(function* () {
        const { a, claim } = yield* subject
        const [first, second] = [yield* makeWorkspace, yield* makeWorkspace]
        const [low, lower, high, higher] = yield* Effect.replicateEffect(newId<RunId>("run"), 4)
        for (const id of [high, higher]) yield* makeRun(first, id === undefined ? {} : { id })
        for (const id of [low, lower]) yield* makeRun(second, id === undefined ? {} : { id })
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 3 }), first, second), [1, 2])
      })
    )

    it.effect("takes from the workspace that was served longer ago, whatever came to it since", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId: one } = yield* subject
        const two = yield* makeWorkspace
        for (const each of [one, two]) {
          yield* makeRuns(each, 1)
          for (const run of yield* claim(a)) yield* runs.finish(executionOf(a, run), completed, times)
        }
        for (const each of [two, one]) yield* makeRuns(each, 1)
        assert.deepStrictEqual(shares(yield* claim(a, { limit: 1 }), one, two), [1, 0])
      })
    )

    it.effect.each<[number, number]>([
      [1, 100],
      [8, 1]
    ])(
      "takes the oldest of a workspace, those of one moment by id, where %d may run and %d be taken",
      ([perWorkspace, limit]) =>
        Effect.gen(function* () {
          const { a, claim, runs, workspaceId } = yield* subject
          const ids = yield* Effect.replicateEffect(newId<RunId>("run"), 3)
          for (const id of ids.toReversed()) yield* makeRun(workspaceId, { id, createdAt: at(1) })
          const oldest = yield* makeRun(workspaceId, { createdAt: at() })
          for (const id of [oldest.id, ...ids]) {
            const [claimed, ...rest] = yield* claim(a, { perWorkspace, limit })
            assert.deepStrictEqual([claimed?.id, rest], [id, []])
            yield* runs.finish(executionOf(a, claimed ?? assert.fail()), completed, times)
          }
        })
    )
  })
