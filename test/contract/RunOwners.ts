import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import type { MessageId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { RunKind, StoredRun } from "../../src/Schemas/Run.ts"
import { type Claimant, RunRepo, type Shares } from "../../src/Services/RunRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeConversation,
  makeUser,
  makeWorkspace,
  makeWorkspaceOf,
  newId,
  newRun
} from "../support/Fixtures.ts"
import { completed, executionOf, idsOf, minute, subject as ofTasks, sweep, times } from "./RunSubject.ts"

const kinds: ReadonlyArray<RunKind> = ["task", "turn"]

/** The n-th run of a workspace that is not stored yet. */
const newOne = Effect.fnUntraced(function* (workspaceId: WorkspaceId, kind: RunKind, n: number) {
  const given = { createdAt: at(n), updatedAt: at(n) }
  if (kind === "task") return yield* newRun(workspaceId, given)
  const { id: conversationId } = yield* makeConversation(workspaceId)
  const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
  return yield* newRun(workspaceId, { ...given, id: yield* newId<RunId>("turn"), turn })
})

/** All that an earlier test left is taken out of the way. */
const subject = Effect.fnUntraced(function* (kind: RunKind) {
  const given = yield* ofTasks
  const { a, runs } = given
  const claimant = { worker: "sweeper", kind, leaseMillis: 60 * minute }
  yield* runs.claim({ ...claimant, limit: 10_000, perWorkspace: 10_000 })
  yield* sweep(kind)
  const start = (shares: Shares): Claimant & Shares => ({ worker: a, kind, leaseMillis: minute, ...shares })
  const make = (workspaceId: WorkspaceId, count: number, from = 0) =>
    Effect.forEach(
      Array.from({ length: count }, (_, n) => from + n),
      Effect.fnUntraced(function* (n) {
        const run = yield* newOne(workspaceId, kind, n)
        yield* runs.insert(run)
        return run
      })
    )
  const claim = (shares: Shares, limit = 100) => runs.claim({ ...start(shares), limit })
  const end = (run: StoredRun) => runs.finish(executionOf(a, run), completed, times)
  return { claim, end, make, runs, start }
})

const shares = (claimed: ReadonlyArray<StoredRun>, ...workspaces: ReadonlyArray<WorkspaceId>) =>
  workspaces.map((id) => claimed.filter(({ workspaceId }) => workspaceId === id).length)

export const suite = (it: It) =>
  describe.each(kinds)("RunRepo, limits of owners, %ss", { concurrent: false }, (kind) => {
    it.effect("never makes more of one owner RUNNING than allowed, and fills what falls free", () =>
      Effect.gen(function* () {
        const { claim, end, make } = yield* subject(kind)
        const { id: owner } = yield* makeUser
        const [one, two] = [yield* makeWorkspaceOf(owner), yield* makeWorkspaceOf(owner)]
        yield* make(one, 4)
        yield* make(two, 4, 1_000)
        const limits = { perWorkspace: 8, perOwner: 3 }
        const first = yield* claim(limits)
        assert.deepStrictEqual(shares(first, one, two), [2, 1])
        assert.deepStrictEqual(yield* claim(limits), [])
        for (const run of first.slice(0, 2)) yield* end(run)
        assert.strictEqual((yield* claim(limits)).length, 2)
        assert.strictEqual((yield* claim({ ...limits, perOwner: 5 })).length, 2)
        assert.deepStrictEqual(yield* claim({ ...limits, perOwner: 1 }), [])
      })
    )

    it.effect("takes the oldest of each workspace, as many as its owner may have", () =>
      Effect.gen(function* () {
        const { claim, make } = yield* subject(kind)
        const { id: owner } = yield* makeUser
        const [one, two] = [yield* makeWorkspaceOf(owner), yield* makeWorkspaceOf(owner)]
        const [ofOne, ofTwo] = [yield* make(one, 3), yield* make(two, 3, 1_000)]
        const claimed = yield* claim({ perWorkspace: 8, perOwner: 3 })
        assert.deepStrictEqual(idsOf(claimed), [...idsOf(ofOne).slice(0, 2), ...idsOf(ofTwo).slice(0, 1)])
      })
    )

    it.effect("lets the limit of an owner hold nobody else up, who has made a workspace or not", () =>
      Effect.gen(function* () {
        const { claim, make } = yield* subject(kind)
        const [{ id: owner }, { id: other }] = [yield* makeUser, yield* makeUser]
        const full = yield* Effect.replicateEffect(makeWorkspaceOf(owner), 6)
        for (const each of full) yield* make(each, 3)
        const limits = { perWorkspace: 8, perOwner: 2 }
        assert.strictEqual((yield* claim(limits, 6)).length, 2)
        const [own, nobodys] = [yield* makeWorkspaceOf(other), yield* makeWorkspace]
        for (const each of [own, nobodys]) yield* make(each, 1, 1_000)
        // There are more workspaces of the full owner than may be taken, and they wait longer.
        assert.deepStrictEqual(shares(yield* claim(limits, 2), own, nobodys), [1, 1])
        yield* make(nobodys, 5, 2_000)
        assert.strictEqual((yield* claim(limits)).length, 5, "a limit where there is no owner")
      })
    )

    it.effect("counts for who made a workspace, whoever its members are now", () =>
      Effect.gen(function* () {
        const { claim, make } = yield* subject(kind)
        const workspaces = yield* WorkspaceRepo
        const [{ id: maker }, { id: other }] = [yield* makeUser, yield* makeUser]
        const [one, two] = [yield* makeWorkspaceOf(maker), yield* makeWorkspaceOf(maker)]
        yield* workspaces.addMember(one, maker, "owner", at())
        yield* workspaces.addMember(one, other, "owner", at())
        yield* workspaces.removeMember(one, maker)
        for (const each of [one, two]) yield* make(each, 2)
        assert.strictEqual((yield* claim({ perWorkspace: 8, perOwner: 1 })).length, 1)
      })
    )

    it.effect("starts none at once where the owner is full, or a run of the workspace waits", () =>
      Effect.gen(function* () {
        const { end, runs, start } = yield* subject(kind)
        const { id: owner } = yield* makeUser
        const [one, two] = [yield* makeWorkspaceOf(owner), yield* makeWorkspaceOf(owner)]
        const insert = Effect.fnUntraced(function* (workspaceId: WorkspaceId, perOwner: number) {
          const run = yield* newOne(workspaceId, kind, 0)
          return { run, started: yield* runs.insert(run, start({ perWorkspace: 2, perOwner })) }
        })
        const first = yield* insert(one, 1)
        assert.isTrue(first.started)
        assert.isFalse((yield* insert(two, 1)).started)
        yield* end({ ...first.run, epoch: 1 })
        assert.isTrue((yield* insert(one, 1)).started)
        assert.isFalse((yield* insert(two, 9)).started, "it went before one that waits")
        assert.isTrue((yield* insert(one, 9)).started)
        assert.isFalse((yield* insert(one, 9)).started, "more than the workspace may have")
      })
    )

    it.effect("makes exactly as many RUNNING as allowed of 40 that are inserted and claimed at once", () =>
      Effect.gen(function* () {
        const { claim, make, runs, start } = yield* subject(kind)
        const { id: owner } = yield* makeUser
        const workspaces = yield* Effect.replicateEffect(makeWorkspaceOf(owner), 5)
        for (const each of workspaces) yield* make(each, 2)
        const fresh = yield* makeWorkspaceOf(owner)
        const limits = { perWorkspace: 4, perOwner: 7 }
        const inserted = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, n) => n),
          (n) => newOne(fresh, kind, n)
        )
        const started = yield* Effect.forEach(
          inserted,
          (run) =>
            Effect.all([
              Effect.map(runs.insert(run, start(limits)), (isStarted) => (isStarted ? 1 : 0)),
              Effect.map(claim(limits, 2), ({ length }) => length)
            ]),
          { concurrency: "unbounded" }
        )
        let sum = started.flat().reduce((all, each) => all + each, 0)
        assert.isAtMost(sum, 7)
        while (sum < 7) sum += (yield* claim(limits)).length
        assert.strictEqual(sum, 7)
        assert.deepStrictEqual(yield* claim(limits), [])
      })
    )

    it.effect("lets no more wait in a workspace than its plan allows, whatever waits elsewhere", () =>
      Effect.gen(function* () {
        const { claim, make, runs, start } = yield* subject(kind)
        const [free, pro] = [
          yield* makeWorkspaceOf(null, { plan: "free" }),
          yield* makeWorkspaceOf(null, { plan: "pro" })
        ]
        const most = { free: 2, pro: 3 }
        const insert = (workspaceId: WorkspaceId, by?: Shares) =>
          Effect.flatMap(newOne(workspaceId, kind, 0), (run) =>
            Effect.as(runs.insert(run, by && start(by), [], most), run)
          )
        yield* make(pro, 1)
        for (let n = 0; n < 2; n++) for (const each of [free, pro]) yield* insert(each)
        for (const [each, plan, count] of [
          [free, "free", 2],
          [pro, "pro", 3]
        ] as const) {
          const refused = yield* Effect.flip(insert(each))
          assert.instanceOf(refused, PlanLimitExceeded)
          assert.strictEqual(refused.error, `pendingRuns: the ${plan} plan allows at most ${count}`)
          assert.instanceOf(yield* Effect.flip(insert(each, { perWorkspace: 9 })), PlanLimitExceeded)
        }
        yield* make(free, 1)
        assert.strictEqual((yield* claim({ perWorkspace: 2 })).length, 4)
        yield* insert(free)
        assert.strictEqual((yield* Effect.flip(insert(free)))._tag, "PlanLimitExceeded")
      })
    )

    it.effect("refuses exactly what is too much of 20 that are inserted at once, and stores none of it", () =>
      Effect.gen(function* () {
        const { runs } = yield* subject(kind)
        const workspaceId = yield* makeWorkspace
        const inserted = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, n) => n),
          (n) => newOne(workspaceId, kind, n)
        )
        const stored = yield* Effect.forEach(
          inserted,
          (run) => Effect.result(runs.insert(run, undefined, [], { free: 6, pro: 0 })),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(stored.filter(({ _tag }) => _tag === "Success").length, 6)
        const found = yield* Effect.forEach(inserted, ({ id }) => runs.find(id))
        assert.strictEqual(found.filter(({ _tag }) => _tag === "Some").length, 6)
        const repo = yield* RunRepo
        assert.strictEqual(
          (yield* repo.claim({ worker: "w", kind, leaseMillis: minute, limit: 100, perWorkspace: 100 }))
            .length,
          6
        )
      })
    )
  })
