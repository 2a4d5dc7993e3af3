import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunStatus } from "../../src/Schemas/Run.ts"
import type { It } from "../support/Backends.ts"
import { at, makeRun, makeWorkspace } from "../support/Fixtures.ts"
import {
  completed,
  countOf,
  executionOf,
  idsOf,
  makeRuns,
  minute,
  renewal,
  subject,
  times
} from "./RunSubject.ts"

export const suite = (it: It) =>
  describe("RunRepo, claims", { concurrent: false }, () => {
    it.effect("makes a claimed run RUNNING, and counts the attempt", () =>
      Effect.gen(function* () {
        const { a, claim, runs, workspaceId } = yield* subject
        const run = yield* makeRun(workspaceId, { connectorIds: ["conn_1"] })
        const [claimed, ...rest] = yield* claim(a)
        if (claimed === undefined) return assert.fail()
        assert.deepStrictEqual(rest, [])
        assert.deepStrictEqual(claimed, {
          ...run,
          status: "RUNNING",
          attempts: 1,
          epoch: 1,
          startedAt: claimed.startedAt,
          updatedAt: claimed.updatedAt
        })
        assert.isAbove(claimed.startedAt?.getTime() ?? 0, Date.now() - minute)
        assert.isAbove(claimed.updatedAt.getTime(), Date.now() - minute)
        assert.deepStrictEqual(yield* runs.find(run.id), Option.some(claimed))
      })
    )

    it.effect("takes the oldest of a workspace first, those of one moment by id, up to the limit", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId } = yield* subject
        const one = yield* makeRun(workspaceId, { createdAt: at(3) })
        const two = yield* makeRun(workspaceId, { createdAt: at(2) })
        const three = yield* makeRun(workspaceId, { createdAt: at(2) })
        const four = yield* makeRun(workspaceId, { createdAt: at(1) })
        assert.deepStrictEqual(idsOf(yield* claim(a, { limit: 2 })), [four.id, two.id])
        assert.deepStrictEqual(idsOf(yield* claim(a)), [three.id, one.id])
        assert.deepStrictEqual(yield* claim(a), [])
      })
    )

    it.effect("takes none that is over, waits for approval, or is RUNNING", () =>
      Effect.gen(function* () {
        const { a, b, claim, status, workspaceId } = yield* subject
        const idle: ReadonlyArray<RunStatus> = ["WAITING_APPROVAL", "COMPLETED", "FAILED", "CANCELLED"]
        const made = yield* Effect.forEach(idle, (given) => makeRun(workspaceId, { status: given }))
        const leased = yield* makeRun(workspaceId)
        const ended = yield* makeRun(workspaceId)
        assert.deepStrictEqual(idsOf(yield* claim(a, { limit: 1 })), [leased.id])
        assert.deepStrictEqual(idsOf(yield* claim(a, { leaseMillis: 0 })), [ended.id])
        assert.deepStrictEqual(yield* claim(b), [], "a claim is no takeover, even of a lease that ended")
        assert.deepStrictEqual(yield* Effect.forEach(made, ({ id }) => status(id)), idle)
      })
    )

    it.effect("gives each of 5 runs to one of 20 workers at the same time", () =>
      Effect.gen(function* () {
        const { a, claim, workspaceId } = yield* subject
        const made = yield* makeRuns(workspaceId, 5)
        const claimed: Array<string> = []
        // A workspace that another claim is looking at may be left out: so until none waits.
        while ((yield* countOf(workspaceId, "PENDING")) > 0) {
          const taken = yield* Effect.forEach(
            Array.from({ length: 20 }, (_, n) => `${a} ${n}`),
            (worker) => Effect.map(claim(worker, { limit: 1 }), idsOf),
            { concurrency: "unbounded" }
          )
          assert.isAtMost(Math.max(...taken.map(({ length }) => length)), 1)
          claimed.push(...taken.flat())
        }
        assert.deepStrictEqual(claimed.sort(), idsOf(made).sort())
      })
    )

    it.effect("never makes more of a workspace RUNNING than allowed, and fills what falls free", () =>
      Effect.gen(function* () {
        const { a, b, claim, runs, workspaceId } = yield* subject
        const ids = idsOf(yield* makeRuns(workspaceId, 9))
        yield* makeRun(workspaceId, { status: "WAITING_APPROVAL" })
        const first = yield* claim(a, { perWorkspace: 3 })
        assert.deepStrictEqual(idsOf(first), ids.slice(0, 3))
        assert.deepStrictEqual(yield* claim(b, { perWorkspace: 3 }), [])
        assert.deepStrictEqual(idsOf(yield* claim(b, { perWorkspace: 4 })), ids.slice(3, 4))
        assert.strictEqual(yield* countOf(workspaceId, "RUNNING"), 4)
        const [ended, cancelled] = first
        if (ended === undefined || cancelled === undefined) return assert.fail()
        yield* runs.finish(executionOf(a, ended), completed, times)
        assert.deepStrictEqual(idsOf(yield* claim(b, { perWorkspace: 4 })), ids.slice(4, 5))
        yield* runs.cancel(cancelled.id, at())
        assert.deepStrictEqual(idsOf(yield* claim(b, { perWorkspace: 4 })), ids.slice(5, 6))
        yield* runs.release(b, { crashed: false, maxCrashes: 3 })
        assert.deepStrictEqual(idsOf(yield* claim(a, { perWorkspace: 4 })), ids.slice(3, 6))
        assert.strictEqual(yield* countOf(workspaceId, "RUNNING"), 4)
      })
    )

    it.effect("counts attempts and executions with every claim and takeover, and keeps the first start", () =>
      Effect.gen(function* () {
        const { a, b, claimOne, find, runs, takeOver, workspaceId } = yield* subject
        const { id } = yield* makeRun(workspaceId)
        const first = yield* claimOne(a)
        yield* runs.release(a, { crashed: false, maxCrashes: 3 })
        assert.deepInclude(yield* find(id), { status: "PENDING", attempts: 1, epoch: 1 })
        const second = yield* claimOne(a, 0)
        const [third] = yield* takeOver(b)
        assert.deepStrictEqual(
          [first, second, third].map((run) => [run?.attempts, run?.epoch]),
          [
            [1, 1],
            [2, 2],
            [3, 3]
          ]
        )
        assert.deepStrictEqual([second.startedAt, third?.startedAt], [first.startedAt, first.startedAt])
        assert.deepStrictEqual(yield* find(id), third)
      })
    )

    it.effect("starts a run as it is inserted", () =>
      Effect.gen(function* () {
        const { a, b, claim, find, runs, takeOver, workspaceId } = yield* subject
        const { status: _, ...over } = yield* makeRun(workspaceId, { status: "COMPLETED" })
        const run = { ...over, id: `${over.id}_direct` as typeof over.id, status: "PENDING" as const }
        const start = { worker: a, leaseMillis: minute, perWorkspace: 1 }
        assert.isTrue(yield* runs.insert(run, start))
        const stored = yield* find(run.id)
        assert.deepStrictEqual(stored, {
          ...run,
          status: "RUNNING",
          attempts: 1,
          epoch: 1,
          startedAt: stored.startedAt,
          updatedAt: stored.updatedAt
        })
        assert.isAbove(stored.startedAt?.getTime() ?? 0, Date.now() - minute)
        assert.deepStrictEqual([yield* claim(b), yield* takeOver(b)], [[], []])
        assert.deepStrictEqual(
          yield* runs.renew(a, [{ id: run.id, epoch: 1 }], 0),
          renewal([run.id], []),
          "the worker does not own it"
        )
        assert.deepStrictEqual(idsOf(yield* takeOver(b)), [run.id])
        assert.isFalse(yield* runs.finish({ id: run.id, worker: a, epoch: 1 }, completed, times))
        assert.isTrue(yield* runs.finish({ id: run.id, worker: b, epoch: 2 }, completed, times))
      })
    )

    it.effect("starts none at once where the workspace is full or a run waits", () =>
      Effect.gen(function* () {
        const { a, claim, find, runs, workspaceId } = yield* subject
        const over = yield* makeRun(workspaceId, { status: "COMPLETED" })
        const insert = Effect.fnUntraced(function* (name: string, workspace = workspaceId) {
          const id = `${over.id}_${name}` as typeof over.id
          const run = { ...over, id, workspaceId: workspace, status: "PENDING" as const }
          const started = yield* runs.insert(run, { worker: a, leaseMillis: minute, perWorkspace: 2 })
          const { attempts, epoch, startedAt, status } = yield* find(id)
          assert.deepStrictEqual(
            [status, attempts, epoch, startedAt === null],
            started ? ["RUNNING", 1, 1, false] : ["PENDING", 0, 0, true]
          )
          return { id, started }
        })
        const [one, two, three] = [yield* insert("1"), yield* insert("2"), yield* insert("3")]
        assert.deepStrictEqual([one.started, two.started, three.started], [true, true, false])
        assert.isTrue((yield* insert("elsewhere", yield* makeWorkspace)).started)
        yield* runs.finish({ id: one.id, worker: a, epoch: 1 }, completed, times)
        assert.isFalse((yield* insert("4")).started, "it went before one that waits")
        yield* runs.finish({ id: two.id, worker: a, epoch: 1 }, completed, times)
        assert.deepStrictEqual(idsOf(yield* claim(a, { perWorkspace: 1 })), [three.id])
        assert.isFalse((yield* insert("5")).started, "it went before one that waits")
      })
    )

    it.effect("starts exactly as many as allowed of 20 that are inserted at once", () =>
      Effect.gen(function* () {
        const { a, runs, workspaceId } = yield* subject
        const over = yield* makeRun(workspaceId, { status: "COMPLETED" })
        const started = yield* Effect.forEach(
          Array.from({ length: 20 }, (_, n) => `${over.id}_${n}` as typeof over.id),
          (id) =>
            runs.insert(
              { ...over, id, status: "PENDING" },
              { worker: a, leaseMillis: minute, perWorkspace: 3 }
            ),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(started.filter((now) => now).length, 3)
        assert.strictEqual(yield* countOf(workspaceId, "RUNNING"), 3)
        assert.strictEqual(yield* countOf(workspaceId, "PENDING"), 17)
      })
    )
  })
