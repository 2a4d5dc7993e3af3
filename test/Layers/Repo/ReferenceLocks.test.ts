import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { namings } from "../../../src/Layers/Repo/Postgres/RemovalRepo.ts"
import { ReferenceGone, type Unavailable } from "../../../src/Schemas/Errors.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { Removal } from "../../../src/Schemas/Removal.ts"
import type { StoredRun } from "../../../src/Schemas/Run.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { ProviderKeyRepo } from "../../../src/Services/ProviderKeyRepo.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { makeCronJob } from "../../contract/CronJobRepo.ts"
import { completed, minute, times } from "../../contract/RunSubject.ts"
import type { Backend } from "../../support/Backends.ts"
import { makeAgent, makeProviderKey, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

/** What a run names, and how that is removed. */
interface Referred {
  readonly names: Partial<Pick<StoredRun, "agentId" | "cronJobId" | "providerKeyId">>
  readonly removal: Removal
  readonly remove: Effect.Effect<boolean, Unavailable, Backend>
}

const agent = (workspaceId: WorkspaceId) =>
  Effect.map(
    makeAgent(workspaceId),
    ({ id }): Referred => ({
      names: { agentId: id },
      removal: { kind: "agent", id },
      remove: Effect.flatMap(AgentRepo, (repo) => repo.remove(id))
    })
  )

const cronJob = (workspaceId: WorkspaceId) =>
  Effect.map(
    makeCronJob(workspaceId),
    ({ id }): Referred => ({
      names: { cronJobId: id },
      removal: { kind: "cronJob", id },
      remove: Effect.flatMap(CronJobRepo, (repo) => repo.remove(id))
    })
  )

const providerKey = (workspaceId: WorkspaceId) =>
  Effect.map(
    makeProviderKey(workspaceId),
    ({ id }): Referred => ({
      names: { providerKeyId: id },
      removal: { kind: "providerKey", id },
      remove: Effect.flatMap(ProviderKeyRepo, (repo) => repo.remove(id))
    })
  )

/** Waiting in vain fails these tests by their time-out, and a deadlock as an error: it is Unavailable to its victim. */
const suite = () => {
  const kinds: ReadonlyArray<
    [string, (workspaceId: WorkspaceId) => Effect.Effect<Referred, unknown, Backend>]
  > = [
    ["an agent", agent],
    ["a cron job", cronJob],
    ["a provider key", providerKey]
  ]

  it.live.each(kinds)("%s is removed while a run of it ends, which nobody waits for", ([, make]) =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const { names, remove, removal } = yield* on(0, make(workspaceId))
      const start = { worker: "w", leaseMillis: minute, perWorkspace: 9 }
      const runs = yield* on(0, RunRepo)
      const [run, other] = [newRun(workspaceId), newRun(workspaceId)]
      for (const { id } of [run, other]) yield* runs.insert({ ...run, id, ...names }, start)
      const advance = Effect.flatMap(RemovalRepo, (removals) => removals.advance(removal, 9))
      const ending = Effect.gen(function* () {
        const sql = yield* PgClient
        yield* sql`select from runs where id = ${run.id} for update`
        assert.isTrue(yield* on(1, remove))
        const late = Effect.flatMap(RunRepo, (repo) =>
          repo.insert({ ...newRun(workspaceId), ...names }, start)
        )
        const [field = ""] = Object.keys(names)
        assert.deepStrictEqual<unknown>(yield* on(1, Effect.flip(late)), new ReferenceGone({ field }))
        assert.deepStrictEqual([yield* on(1, advance), yield* on(1, advance)], [1, 0])
        assert.isTrue(yield* runs.finish({ id: run.id, worker: "w", epoch: 1 }, completed, times))
      })
      yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(ending))
      )
      assert.deepStrictEqual([yield* on(1, advance), yield* on(1, advance)], [1, 0])
      const pending = yield* on(
        1,
        Effect.flatMap(RemovalRepo, (removals) => removals.pending(9))
      )
      assert.deepStrictEqual(pending, [])
    })
  )

  it.live.each(kinds)("%s is removed while a run of it is written, which has none afterwards", ([, make]) =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const workspaceId = yield* on(0, makeWorkspace)
      const { names, remove, removal } = yield* on(0, make(workspaceId))
      const run = { ...newRun(workspaceId), ...names }
      const runs = yield* on(0, RunRepo)
      const advance = Effect.flatMap(RemovalRepo, (removals) => removals.advance(removal, 9))
      const writing = Effect.gen(function* () {
        yield* runs.insert(run)
        assert.isTrue(yield* on(1, remove))
        // It can't be removed for good while somebody who names it is not done.
        assert.strictEqual(yield* on(1, advance), 0)
      })
      yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(writing))
      )
      const found = Effect.map(runs.find(run.id), Option.getOrThrow)
      const without = { agentId: null, cronJobId: null, providerKeyId: null }
      assert.deepInclude(yield* found, without)
      assert.deepStrictEqual([yield* on(1, advance), yield* on(1, advance)], [1, 0])
      assert.deepInclude(yield* found, without)
    })
  )

  it.live("the secret of a provider key is wiped with the answer", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(1)
      const [sql, keys] = [yield* on(0, PgClient), yield* on(0, ProviderKeyRepo)]
      const key = yield* on(0, Effect.flatMap(makeWorkspace, makeProviderKey))
      const sealed = { ...key, id: `${key.id}s` as typeof key.id, hasApiKey: true, sealedApiKey: "sealed" }
      yield* keys.insert(sealed)
      yield* keys.remove(sealed.id)
      const kept = yield* sql`select sealed_api_key from provider_keys where id = ${sealed.id}`
      assert.deepStrictEqual(kept, [{ sealed_api_key: null }])
    })
  )

  it.live("whatever names what can be removed lets go of it first", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(1)
      const sql = yield* on(0, PgClient)
      const found = yield* sql<{ named: string; by: string }>`
        select k.confrelid::regclass::text as named, k.conrelid::regclass::text || '.' || a.attname as by
        from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        where k.contype = 'f' order by 1, 2`
      for (const { by, table } of Object.values(namings)) {
        assert.deepStrictEqual(
          by.map((each) => `${each.table}.${each.column}`).sort(),
          found.flatMap(({ by, named }) => (named === table ? [by] : []))
        )
      }
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of what runs name", suite)
else describe.skip(Postgres.skipped("Locks of what runs name"), suite)
