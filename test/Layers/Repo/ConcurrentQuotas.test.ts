import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { PlanLimitExceeded } from "../../../src/Schemas/Connector.ts"
import type { UserId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { Quota } from "../../../src/Schemas/Quotas.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import { QuotaRepo } from "../../../src/Services/QuotaRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { insertToken, type Kind, kinds, remember } from "../../contract/QuotaRepo.ts"
import { at, makeUser, makeWorkspace, newWorkspace } from "../../support/Fixtures.ts"
import { listed } from "../../support/Listed.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes } from "./RunNodes.ts"

const unlimited = { free: null, pro: null }
const most = { free: 5, pro: 5 }

const usedOf = Effect.fnUntraced(function* (workspaceId: WorkspaceId, userId = "nobody") {
  const counted = yield* (yield* QuotaRepo).count(workspaceId, userId as UserId, at())
  return Option.getOrThrow(counted).used
})

/** How many were made; all others were refused by a quota, and by nothing else. */
const madeOf = <A, E>(results: ReadonlyArray<Result.Result<A, E>>): number => {
  for (const result of results)
    if (Result.isFailure(result)) assert.instanceOf(result.failure, PlanLimitExceeded)
  return results.filter(Result.isSuccess).length
}

const suite = () => {
  it.live.each(Object.entries(kinds) as ReadonlyArray<[Quota, Kind]>)(
    "%s: exactly 5 of 40 on three nodes",
    ([quota, { make }]) =>
      Effect.gen(function* () {
        const { on, together } = yield* makeNodes(3)
        const workspaceId = yield* on(0, makeWorkspace)
        const made = madeOf(yield* together(40, () => Effect.result(make(workspaceId, most))))
        assert.strictEqual(made, 5)
        assert.strictEqual((yield* on(1, usedOf(workspaceId)))[quota], 5)
      })
  )

  it.live("tokens and workspacesOwned: exactly 5 of 40 on three nodes", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(3)
      const { id } = yield* on(0, makeUser)
      const workspaceId = yield* on(0, makeWorkspace)
      const tokens = yield* together(40, () => Effect.result(insertToken(id, {}, most)))
      const making = yield* together(40, () =>
        Effect.gen(function* () {
          const { atomically } = yield* Transaction
          const { insert } = yield* WorkspaceRepo
          return yield* Effect.result(atomically(insert(yield* newWorkspace, id, most)))
        })
      )
      assert.deepStrictEqual([madeOf(tokens), madeOf(making)], [5, 5])
      const used = yield* on(1, usedOf(workspaceId, id))
      assert.include(used, { tokens: 5, workspacesOwned: 5 })
    })
  )

  it.live("memoryEntries: however many write one new key at once, it takes the one place that is left", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(3)
      const workspaceId = yield* on(0, makeWorkspace)
      for (let round = 1; round <= 10; round++) {
        const limits = { memoryEntries: { free: round, pro: round }, memoryBytes: unlimited }
        const written = yield* together(12, () =>
          Effect.result(remember(workspaceId, { key: `k${round}` }, limits))
        )
        assert.strictEqual(madeOf(written), 12)
      }
    })
  )

  it.live("memoryBytes: never too many, while entries are written, grow, shrink and are deleted", () =>
    Effect.gen(function* () {
      const { on, together } = yield* makeNodes(3)
      const workspaceId = yield* on(0, makeWorkspace)
      const limits = { memoryEntries: unlimited, memoryBytes: { free: 100, pro: 100 } }
      const seen = yield* together(300, (index) =>
        Effect.gen(function* () {
          const memory = yield* MemoryRepo
          const value = "x".repeat((index * 7) % 31)
          const result = yield* Effect.result(remember(workspaceId, { key: `k${index % 8}`, value }, limits))
          madeOf([result])
          if (index % 5 === 0 && Result.isSuccess(result)) yield* memory.remove(result.success.id)
          const [row] = yield* (yield* PgClient)<{ bytes: number }>`
            select coalesce(sum(octet_length(value)), 0)::int as bytes from memory_entries`
          return row?.bytes ?? Number.NaN
        })
      )
      assert.isAtMost(Math.max(...seen), 100)
      assert.isAtLeast(Math.max(...seen), 70)
      const entries = yield* on(
        0,
        Effect.flatMap(MemoryRepo, (memory) => listed(memory, { workspaceId }))
      )
      assert.include(yield* on(1, usedOf(workspaceId)), {
        memoryEntries: entries.length,
        memoryBytes: entries.reduce((sum, { value }) => sum + value.length, 0)
      })
    })
  )

  it.live("memory: who deletes an entry and who writes it wait for each other in one order", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const { id } = yield* on(0, remember(workspaceId, { key: "a" }))
      const writing = Effect.gen(function* () {
        yield* remember(workspaceId, { key: "b" })
        const removing = Effect.flatMap(MemoryRepo, (memory) => memory.remove(id))
        const removal = yield* Effect.forkDetach(on(1, removing))
        yield* Effect.orDie(on(1, Postgres.untilWaiting(1)))
        yield* remember(workspaceId, { key: "a" })
        return removal
      })
      const { atomically } = yield* on(0, Transaction)
      assert.isTrue(yield* Fiber.join(yield* on(0, atomically(writing))))
      assert.include(yield* on(0, usedOf(workspaceId)), { memoryEntries: 1, memoryBytes: 1 })
    })
  )

  it.live("who makes one more waits for nobody of another workspace, nor for another kind", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const [workspaceId, other] = [yield* on(0, makeWorkspace), yield* on(0, makeWorkspace)]
      const holding = Effect.gen(function* () {
        yield* kinds.agents.make(workspaceId, most)
        yield* on(1, kinds.projects.make(workspaceId, most))
        yield* on(1, kinds.agents.make(other, most))
        yield* on(1, remember(workspaceId, {}))
      })
      yield* on(
        0,
        Effect.flatMap(Transaction, ({ atomically }) => atomically(holding))
      )
    })
  )
}

if (Postgres.hasPostgres) describe("Quotas on several nodes", suite)
else describe.skip(Postgres.skipped("Quotas on several nodes"), suite)
