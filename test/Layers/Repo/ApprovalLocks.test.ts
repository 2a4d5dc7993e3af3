import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { ApprovalId } from "../../../src/Schemas/Ids.ts"
import { ApprovalRepo } from "../../../src/Services/ApprovalRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { minute } from "../../contract/RunSubject.ts"
import { at, makeApproval, makeWorkspace, newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

const suite = () => {
  it.live("what a run asks for while somebody waits to cancel it is EXPIRED", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const run = newRun(workspaceId)
      const parking = Effect.gen(function* () {
        const call = { ...(yield* makeApproval(workspaceId)), runId: run.id }
        const asked = [{ ...call, id: yield* newId<ApprovalId>("approval") }]
        yield* (yield* RunRepo).insert(run, { worker: "w", leaseMillis: minute, perWorkspace: 1 })
        const park = Effect.gen(function* () {
          assert.isTrue(yield* (yield* ApprovalRepo).park({ id: run.id, worker: "w", epoch: 1 }, asked))
          const cancelling = yield* Effect.forkDetach(
            on(
              1,
              Effect.flatMap(RunRepo, (runs) => runs.cancel(run.id, at()))
            )
          )
          yield* on(1, Postgres.untilWaiting(1))
          return cancelling
        })
        return yield* (yield* Transaction).atomically(park)
      })
      assert.isTrue(yield* Fiber.join(yield* on(0, parking)))
      const left = yield* on(
        0,
        Effect.flatMap(ApprovalRepo, (approvals) => approvals.ofRun(run.id))
      )
      assert.deepStrictEqual(
        left.map(({ status }) => status),
        ["EXPIRED"]
      )
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of approvals", suite)
else describe.skip(Postgres.skipped("Locks of approvals"), suite)
