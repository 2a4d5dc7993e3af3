import type { Law } from "../Growth.ts"
import { ask, idOf, idSql, listed, runTask, untilNone } from "./Operations.ts"

const agents = 100
const jobs = 10

/** Runs that are over, of one workspace: one in a hundred FAILED; of 100 agents, and every tenth of ten cron jobs. */
const seed: Law["seed"] =
  (size) =>
  async ({ run, workspaceId }) => {
    const ws = `'${workspaceId}'`
    await run(`insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
      select ${idSql("agent", "n")}, ${ws}, 'Agent ' || n, true, now(), now() from generate_series(1, ${agents}) n`)
    await run(`insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, created_at, updated_at)
      select ${idSql("cron", "n")}, ${ws}, 'Job ' || n, '@yearly', 'UTC', 'p', false, now(), now()
      from generate_series(1, ${jobs}) n`)
    await run(`insert into runs (id, workspace_id, agent_id, cron_job_id, status, prompt, output, error,
        autonomy_level, attempts, epoch, created_at, updated_at, started_at, finished_at, pruned)
      select ${idSql("run", "n")}, ${ws}, ${idSql("agent", `1 + n % ${agents}`)},
        case when n % 10 = 0 then ${idSql("cron", `1 + (n / 10) % ${jobs}`)} end,
        case when n % 100 = 0 then 'FAILED' else 'COMPLETED' end, repeat('p', 300), repeat('o', 300),
        case when n % 100 = 0 then 'it did not work' end, 'autonomous', 1, 1, at, at, at, at, 2
      from (select n, now() - (${size} - n) * interval '1 second' as at from generate_series(1, ${size}) n) given`)
    await run(`insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome, run_id)
      select cron_job_id, created_at, created_at, 'fired', id from runs where cron_job_id is not null`)
    await run(`insert into audit_entries (id, workspace_id, at, actor, action, target_id)
      select ${idSql("audit", "n")}, ${ws}, now() - (${size} - n) * interval '1 second',
        '{"userId":"user_1","tokenId":"token_1"}'::jsonb, 'agent.create', ${idSql("agent", "1")}
      from generate_series(1, ${size}) n`)
  }

const operations: Law["operations"] = (size) => [
  { what: "GET runs, limit 50", run: listed("/api/runs", "&limit=50") },
  {
    what: "GET runs, limit 50, after the middle",
    run: listed("/api/runs", `&limit=50&after=${idOf("run", size / 2)}`)
  },
  { what: "GET runs, limit 50, offset of a half", run: listed("/api/runs", `&limit=50&offset=${size / 2}`) },
  { what: "GET runs, status=FAILED", run: listed("/api/runs", "&limit=50&status=FAILED") },
  { what: "GET runs, status=RUNNING (none)", run: listed("/api/runs", "&limit=50&status=RUNNING") },
  { what: "GET runs, status=COMPLETED", run: listed("/api/runs", "&limit=50&status=COMPLETED") },
  { what: "GET runs, agentId", run: listed("/api/runs", `&limit=50&agentId=${idOf("agent", 7)}`) },
  {
    what: "GET runs, agentId and status=FAILED",
    run: listed("/api/runs", `&limit=50&agentId=${idOf("agent", 1)}&status=FAILED`)
  },
  { what: "GET runs, cronJobId", run: listed("/api/runs", `&limit=50&cronJobId=${idOf("cron", 1)}`) },
  { what: "GET a run", run: (site, n) => ask(site, "GET", `/api/runs/${idOf("run", size - n * 3)}`) },
  {
    what: "GET fires of a job, limit 50",
    run: (site) => ask(site, "GET", `/api/cron-jobs/${idOf("cron", 1)}/fires?limit=50`)
  },
  { what: "GET audit, limit 50", run: listed("/api/audit", "&limit=50") },
  { what: "GET usage", run: (site) => ask(site, "GET", `/api/workspaces/${site.workspaceId}/usage`) },
  {
    what: "GET /metrics",
    run: async (site) => void (await (await fetch(`${site.nodes.server(0).baseUrl}/metrics`)).text())
  },
  { what: "a task from POST to its last event", run: (site) => runTask(site) },
  {
    what: "DELETE an agent with a hundredth of the runs, till it is gone",
    most: 1,
    run: async (site) => {
      const agent = idOf("agent", 42)
      await ask(site, "DELETE", `/api/agents/${agent}`)
      await untilNone(site, `select count(*)::int as count from agents where id = '${agent}'`)
    }
  },
  {
    what: "a node starts",
    most: 3,
    run: async (site) => {
      await site.nodes.kill(0)
      const began = performance.now()
      await site.nodes.start(0)
      return performance.now() - began
    }
  }
]

export const storedRuns: Law = {
  name: "runs stored",
  of: "runs",
  sizes: [10_000, 100_000, 1_000_000],
  few: [1_000, 10_000],
  seed,
  operations
}
