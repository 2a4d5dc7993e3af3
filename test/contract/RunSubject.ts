import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { RunKind, RunStatus, StoredRun } from "../../src/Schemas/Run.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { type Execution, RunRepo } from "../../src/Services/RunRepo.ts"
import { at, makeRun, makeWorkspace, newId } from "../support/Fixtures.ts"

export const minute = 60_000
export const completed = {
  status: "COMPLETED",
  output: "Done",
  usage: { inputTokens: 1, outputTokens: 2 }
} as const
export const failed = { status: "FAILED", error: "No", code: "no", usage: noUsage } as const
export const times = { at: at(50), firstTokenAt: at(40) }

/** What is answered of leases that were asked for. */
export const renewal = (renewed: ReadonlyArray<RunId>, lost: ReadonlyArray<RunId>) => ({
  renewed: new Set(renewed),
  lost: new Set(lost)
})

export const idsOf = (runs: ReadonlyArray<StoredRun>) => runs.map(({ id }) => id)

/** What proves that a worker executes this run as it was answered. */
export const executionOf = (worker: string, { epoch, id }: Pick<StoredRun, "epoch" | "id">): Execution => ({
  id,
  worker,
  epoch
})

let sweepers = 0

/**
 * Takes what others left, each time as a worker that holds nothing: one that does may not begin what is suspect. By a
 * lease of no time, what a worker left that lives is found at once.
 */
export const sweep = Effect.fnUntraced(function* (kind: RunKind) {
  const runs = yield* RunRepo
  while (true) {
    const worker = `sweeper ${sweepers++}`
    const taken = yield* runs.takeOver({ worker, kind, limit: 10_000, leaseMillis: 0, maxCrashes: 10_000 })
    if (taken.length === 0) return
    yield* runs.renew(worker, taken, 60 * minute)
  }
})

/** A claim takes runs of every workspace: what an earlier test left is taken out of the way first. */
export const subject = Effect.gen(function* () {
  const runs = yield* RunRepo
  const sweeper = { worker: "sweeper", limit: 10_000, leaseMillis: 60 * minute }
  yield* runs.claim({ ...sweeper, perWorkspace: 10_000 })
  yield* sweep("task")
  const unique = yield* newId<string>("run")
  const claim = (
    worker: string,
    given: { readonly leaseMillis?: number; readonly limit?: number; readonly perWorkspace?: number } = {}
  ) => runs.claim({ worker, limit: 100, leaseMillis: minute, perWorkspace: 8, ...given })
  /** Claims the only run that waits. */
  const claimOne = Effect.fnUntraced(function* (worker: string, leaseMillis = minute) {
    const [claimed, ...rest] = yield* claim(worker, { leaseMillis })
    assert.deepStrictEqual(rest, [])
    return claimed ?? assert.fail("nothing was claimed")
  })
  const takeOver = (
    worker: string,
    given: { readonly leaseMillis?: number; readonly maxCrashes?: number } = {}
  ) => runs.takeOver({ worker, limit: 100, leaseMillis: minute, maxCrashes: 3, ...given })
  const find = (id: RunId) => Effect.map(runs.find(id), Option.getOrThrow)
  const status = (id: RunId) => Effect.map(find(id), (run) => run.status)
  return {
    a: `a ${unique}`,
    b: `b ${unique}`,
    claim,
    claimOne,
    find,
    runs,
    status,
    takeOver,
    workspaceId: yield* makeWorkspace
  }
})

/** Runs of one workspace, the oldest first. */
export const makeRuns = (workspaceId: WorkspaceId, count: number, from = 0) =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) => makeRun(workspaceId, { createdAt: at(from + n) })
  )

export const countOf = Effect.fnUntraced(function* (workspaceId: WorkspaceId, status: RunStatus) {
  return (yield* (yield* RunRepo).list({ workspaceId, status, limit: 1, offset: 0 })).total
})
