import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Snapshots } from "../../../src/Services/Snapshots.ts"
import { completed, executionOf, minute, times } from "../../contract/RunSubject.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { blocksRead } from "./IndexUse.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

const rounds = 2_000
/** So many blocks more at most: the versions of the last changes may lie on a page of their own. */
const mostMore = 25

/** Holds a snapshot on a node while something is done on others. */
const whileHeld = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* PgClient
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`set transaction isolation level repeatable read`
        yield* sql`select count(*) from runs`
        return yield* work
      })
    )
  })

const suite = () => {
  it.live("tells for how long the oldest has been held, and of none when it is over", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const look = on(
        1,
        Effect.flatMap(Snapshots, ({ oldestSeconds }) => oldestSeconds)
      )
      assert.strictEqual(yield* look, 0)
      const [first, second] = yield* on(0, whileHeld(Effect.all([look, look])))
      assert.isAbove(first, 0)
      assert.isAbove(second, first)
      assert.strictEqual(yield* look, 0)
    })
  )

  it.live("lets a run start and end at the same cost while one is held for thousands of others", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(3)
      const worker = "w"
      const start = { worker, leaseMillis: minute, perWorkspace: 9, perOwner: 9 }
      const workspaceId = yield* on(0, makeWorkspace)
      const sql = yield* on(0, PgClient)
      yield* sql`insert into users values ('maker', 'maker@example.org', now())`
      yield* sql`update workspaces set created_by = 'maker'`
      const runOne = on(
        1,
        Effect.gen(function* () {
          const repo = yield* RunRepo
          const run = newRun(workspaceId)
          const begun = { ...run, epoch: 1 }
          const started = yield* blocksRead(repo.insert(run, start))
          const ended = yield* blocksRead(repo.finish(executionOf(worker, begun), completed, times))
          return [started.blocks, ended.blocks] as const
        })
      )
      const others = Effect.gen(function* () {
        const run = newRun(workspaceId)
        yield* on(
          2,
          Effect.flatMap(RunRepo, (repo) => repo.insert(run))
        )
        yield* on(
          2,
          Effect.flatMap(
            PgClient,
            (own) => own`
              do language plpgsql ${own.literal(`$$
                begin
                  for n in 1..${rounds} loop
                    update runs set status = 'RUNNING' where id = '${run.id}';
                    commit;
                    update runs set status = 'CANCELLED' where id = '${run.id}';
                    commit;
                  end loop;
                end $$`)}`
          )
        )
        return yield* runOne
      })
      yield* runOne
      const before = yield* runOne
      const after = yield* on(0, whileHeld(others))
      for (const [n, blocks] of after.entries()) assert.isAtMost(blocks, (before[n] ?? 0) + mostMore)
    })
  )
}

if (Postgres.hasPostgres) describe("Snapshots on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Snapshots on PostgreSQL"), suite)
