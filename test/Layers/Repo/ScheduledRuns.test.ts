import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { at, makeRun, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { blocksRead } from "./IndexUse.ts"

/** What a claim may read, however many runs are scheduled before those that it takes. */
const mostBlocks = 150
const claimant = { worker: "w", leaseMillis: 60_000, limit: 4, perWorkspace: 8 }

// What was read is counted by the session that read it.
const node = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url, { maxConnections: 1 })))
)

const suite = () =>
  layer(node, { excludeTestServices: true })((it) => {
    it.effect("are begun before their time by no version, and hold up no other run", () =>
      Effect.gen(function* () {
        const sql = yield* PgClient
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        const later = yield* makeRun(workspaceId, { notBefore: new Date(Date.now() + 3_600_000) })
        const due = yield* makeRun(workspaceId, { createdAt: at(1) })
        // As the version before claims: it knows nothing of the column.
        const claimed = yield* sql<{ id: string }>`
          update runs set status = 'RUNNING', worker = 'old', attempts = attempts + 1, epoch = epoch + 1
          where id in (
            select id from runs where workspace_id = ${workspaceId} and status = 'PENDING' and kind = 'task'
            order by created_at, id limit 2)
          returning id`
        assert.deepStrictEqual(
          claimed.map(({ id }) => id),
          [due.id]
        )
        assert.deepStrictEqual(yield* runs.find(later.id), Option.some(later))
        const [slots] = yield* sql`
          select queued, scheduled, running from run_slots where workspace_id = ${workspaceId} and kind = 'task'`
        assert.deepStrictEqual(slots, { queued: 0, scheduled: 1, running: 1 })
      })
    )

    it.effect("are passed by, however many there are", () =>
      Effect.gen(function* () {
        const sql = yield* PgClient
        const runs = yield* RunRepo
        const workspaceId = yield* makeWorkspace
        yield* sql`
          insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, created_at, updated_at,
            not_before)
          select 'run_later_' || n, ${workspaceId}, 'PENDING', 'p', 'supervised', 0, ${at(0)}, now(),
            now() + interval '1 day' from generate_series(1, 20000) n`
        yield* sql`vacuum analyze`
        const due = yield* makeRun(workspaceId, { createdAt: at(1) })
        const { blocks } = yield* blocksRead(runs.claim(claimant))
        assert.isAtMost(blocks, mostBlocks)
        assert.strictEqual(Option.getOrThrow(yield* runs.find(due.id)).status, "RUNNING")
      })
    )
  })

if (Postgres.hasPostgres) describe("Scheduled runs on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Scheduled runs on PostgreSQL"), suite)
