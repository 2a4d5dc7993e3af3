import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type {
  AgentId,
  AuditEntryId,
  ConversationId,
  CronJobId,
  MessageId,
  ProjectId,
  RunId,
  WorkspaceId
} from "../../../src/Schemas/Ids.ts"
import { RunStatus } from "../../../src/Schemas/Run.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { ApprovalRepo } from "../../../src/Services/ApprovalRepo.ts"
import { AuditRepo } from "../../../src/Services/AuditRepo.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import type { Pages } from "../../../src/Services/Pages.ts"
import { type RunFilter, RunRepo } from "../../../src/Services/RunRepo.ts"
import { type Backend, layerNode } from "../../support/Backends.ts"
import { seedOthers, seedRuns } from "../../support/ManyRows.ts"
import * as Postgres from "../../support/Postgres.ts"
import { buffersOf } from "./ListBuffers.ts"

/** Enough for a list that reads them all to read thousands of pages. */
const runs = 200_000
const others = 20_000

const workspaceId = "ws_big" as WorkspaceId
const projectId = "proj_3" as ProjectId
const agent = (n: number) => ({ agentId: `agent_${n}` as AgentId })
const cronJobId = "cron_3" as CronJobId
const after = (n: number) => ({
  after: { id: `run_${String(n).padStart(8, "0")}` as RunId, createdAt: null }
})

const narrowings: ReadonlyArray<Omit<RunFilter, "workspaceId">> = [
  {},
  agent(0),
  agent(1),
  agent(9),
  { cronJobId },
  { projectId },
  { ...agent(1), cronJobId },
  { ...agent(0), cronJobId },
  { ...agent(0), projectId },
  { ...agent(1), cronJobId, projectId }
]
const filters = narrowings.flatMap((narrowing) =>
  [undefined, ...RunStatus.literals].map((status) => ({ ...narrowing, status }))
)
const told = (filter: object) => Object.values(filter).filter(Boolean).join(", ") || "nothing"

const seeded = Layer.provideMerge(
  Layer.effectDiscard(Effect.andThen(seedRuns(runs), seedOthers(others))),
  Layer.unwrap(
    Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url, { maxConnections: 1 })))
  )
)

const requireFew = Effect.fnUntraced(function* <A, E, R>(call: Effect.Effect<A, E, R>, most: number) {
  const { answer, buffers, scans } = yield* buffersOf(call)

  assert.isAtMost(buffers, most)
  assert.strictEqual(scans, 0, "all runs are looked at")
  return answer
})

const suite = () =>
  layer(seeded, { excludeTestServices: true, timeout: 300_000 })((it) => {
    it.effect.each(filters)("runs narrowed by %j: a page, and how many there are", (filter) =>
      Effect.gen(function* () {
        const repo = yield* RunRepo
        const sql = yield* PgClient
        const list = (part: object) => repo.list({ workspaceId, ...filter, limit: 20, offset: 0, ...part })
        // A merge reads a page of each status.
        const first = yield* requireFew(list({}), 150)
        yield* requireFew(list(after(runs / 2 + 1)), 190)
        if (told(filter) === "nothing") yield* requireFew(list(after(runs / 2 + 1)), 45)
        yield* requireFew(list({ offset: runs }), 90)
        const [row] = yield* sql<{ count: number }>`
          select count(*)::int from runs where ${sql.and([
            sql`workspace_id = ${workspaceId} and kind = 'task'`,
            ...(filter.status === undefined ? [] : [sql`status = ${filter.status}`]),
            ...(filter.agentId === undefined ? [] : [sql`agent_id = ${filter.agentId}`]),
            ...(filter.cronJobId === undefined ? [] : [sql`cron_job_id = ${filter.cronJobId}`]),
            ...(filter.projectId === undefined ? [] : [sql`project_id = ${filter.projectId}`])
          ])}`
        assert.strictEqual(first.total, row?.count)
        assert.strictEqual(first.runs.length, Math.min(20, first.total))
      })
    )

    it.effect("runs behind very many that are skipped are found in the index", () =>
      Effect.flatMap(RunRepo, (repo) =>
        requireFew(repo.list({ workspaceId, limit: 20, offset: runs / 2 }), runs / 2 / 100)
      )
    )

    it.effect.each<{ readonly what: string; readonly call: Effect.Effect<unknown, unknown, Backend> }>([
      ...(
        [
          ["agents", AgentRepo, "agent_5000"],
          ["cron jobs", CronJobRepo, "cron_5000"],
          ["connectors", ConnectorRepo, "conn_5000"],
          ["memory", MemoryRepo, "mem_5000"]
        ] as const
      ).map(([what, repo, id]) => ({
        what: `a page of ${what}`,
        call: Effect.flatMap(repo as Effect.Effect<Pages<unknown>, never, Backend>, ({ page }) =>
          page({ workspaceId }, { after: { id, createdAt: null }, until: null, limit: 20 })
        )
      })),
      ...[{ key: "k5000" }, { category: "rare" }, { projectId }].map((filter) => ({
        what: `a page of memory by ${Object.keys(filter)}`,
        call: Effect.flatMap(MemoryRepo, ({ page }) =>
          page({ workspaceId, ...filter } as never, { after: null, until: null, limit: 20 })
        )
      })),
      {
        what: "the latest memory",
        call: Effect.flatMap(MemoryRepo, (memory) =>
          memory.search({ workspaceId, projectId: null, limit: 20 })
        )
      },
      {
        what: "conversations",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.list({ workspaceId, limit: 20, offset: 0 }))
      },
      {
        what: "the newest messages of a long conversation",
        call: Effect.flatMap(ConversationRepo, (repo) =>
          repo.newest("conv_1" as ConversationId, { before: "msg_5000" as MessageId, limit: 20 })
        )
      },
      {
        what: "what waits for people",
        call: Effect.flatMap(ApprovalRepo, (approvals) =>
          approvals.waiting({ workspaceId, limit: 20, offset: 0 } as never)
        )
      },
      {
        what: "the audit log",
        call: Effect.flatMap(AuditRepo, (audit) =>
          audit.list({ workspaceId, after: "audit_5000" as AuditEntryId, limit: 20 })
        )
      },
      {
        what: "the slots of a job",
        call: Effect.flatMap(CronFireRepo, (fires) =>
          fires.list({ cronJobId, limit: 20, offset: 0 } as never)
        )
      }
    ])("$what", ({ call }) => requireFew(call, 130))
  })

if (Postgres.hasPostgres) describe("pages read of lists on PostgreSQL", suite)
else describe.skip(Postgres.skipped("pages read of lists on PostgreSQL"), suite)
