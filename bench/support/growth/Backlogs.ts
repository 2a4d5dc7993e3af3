import type { Law, Operation } from "../Growth.ts"
import { ask, idOf, idSql, listed, runTask } from "./Operations.ts"

/** More than a workspace may have at once. */
const places = 8
const ws = (n: string) => idSql("ws", n)

const task: Operation = { what: "a task from POST to its last event", run: (site) => runTask(site) }

/** PENDING runs of a hundred other workspaces, which have as much under way as they may, at a node far away. */
export const queuedRuns: Law = {
  name: "runs queued",
  of: "runs",
  sizes: [1_000, 10_000, 100_000],
  few: [1_000, 10_000],
  seed:
    (size) =>
    async ({ run, workspaceId }) => {
      await run(`insert into workspaces (id, name, plan, created_at, updated_at)
        select ${ws("n")}, 'W', 'pro', now(), now() from generate_series(1, 100) n`)
      await run(`insert into runs (id, workspace_id, status, worker, lease_until, prompt, autonomy_level, attempts, epoch,
          created_at, updated_at, started_at)
        select 'run_held_' || w || '_' || n, ${ws("w")}, 'RUNNING', 'elsewhere', now() + interval '1 day', 'p',
          'autonomous', 1, 1, now(), now(), now()
        from generate_series(1, 100) w, generate_series(1, ${places}) n`)
      await run(`insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, created_at, updated_at)
        select ${idSql("run", "n")}, ${ws("1 + n % 100")}, 'PENDING', repeat('p', 300), 'autonomous', 0,
          now() - n * interval '1 second', now()
        from generate_series(1, ${size}) n`)
      await run(`insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, epoch, created_at,
          updated_at, started_at, worker, lease_until)
        select 'run_ours_' || n, '${workspaceId}', 'RUNNING', 'p', 'autonomous', 1, 1, now(), now(), now(),
          'elsewhere', now() + interval '1 day'
        from generate_series(1, ${places - 1}) n`)
    },
  operations: () => [
    task,
    { what: "GET runs, status=PENDING (none of ours)", run: listed("/api/runs", "&limit=50&status=PENDING") },
    {
      what: "POST a task and cancel it",
      run: async (site) => {
        const body = { workspaceId: site.workspaceId, prompt: "hello", selectedProvider: "offline" }
        const { data } = await ask(site, "POST", "/api/tasks", body)
        await site.client(0).request("POST", `/api/runs/${data.id}/cancel`)
      }
    }
  ]
}

/** Runs that wait for people, of one workspace. */
export const parkedRuns: Law = {
  name: "runs parked",
  of: "approvals",
  sizes: [1_000, 10_000, 100_000],
  few: [1_000, 10_000],
  seed:
    (size) =>
    async ({ run, workspaceId }) => {
      await run(`insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, epoch, created_at,
          updated_at, started_at)
        select ${idSql("run", "n")}, '${workspaceId}', 'WAITING_APPROVAL', 'p', 'semi-autonomous', 1, 1,
          now() - n * interval '1 second', now(), now() from generate_series(1, ${size}) n`)
      await run(`insert into approvals (id, workspace_id, run_id, tool_call_id, tool, arguments, fingerprint, status,
          created_at, expires_at)
        select ${idSql("appr", "n")}, '${workspaceId}', ${idSql("run", "n")}, 'call_1', 'remember', '{"key":"k"}', 'f',
          'PENDING', now() - n * interval '1 second', now() + interval '1 day' from generate_series(1, ${size}) n`)
    },
  operations: (size) => [
    { what: "GET approvals, limit 50", run: listed("/api/approvals", "&limit=50") },
    {
      what: "GET approvals, limit 50, offset of a half",
      run: listed("/api/approvals", `&limit=50&offset=${size / 2}`)
    },
    {
      what: "GET runs, status=WAITING_APPROVAL",
      run: listed("/api/runs", "&limit=50&status=WAITING_APPROVAL")
    },
    {
      what: "POST a rejection",
      run: (site, n) =>
        ask(site, "POST", `/api/approvals/${idOf("appr", size - n)}`, { decision: "reject", reason: "no" })
    },
    task
  ]
}

/** Workspaces with a user each, an agent and a token; our own user is in a hundredth of them. */
export const workspaces: Law = {
  name: "workspaces and users",
  of: "workspaces",
  sizes: [1_000, 10_000, 100_000],
  few: [1_000, 10_000],
  seed:
    (size) =>
    async ({ run }) => {
      await run(`insert into users (id, email, created_at)
        select ${idSql("user", "n")}, 'u' || n || '@example.org', now() from generate_series(1, ${size}) n`)
      await run(`insert into workspaces (id, name, plan, created_at, updated_at, created_by)
        select ${ws("n")}, 'W' || n, 'free', now(), now(), ${idSql("user", "n")} from generate_series(1, ${size}) n`)
      await run(`insert into workspace_members (workspace_id, user_id, role, created_at)
        select ${ws("n")}, ${idSql("user", "n")}, 'owner', now() from generate_series(1, ${size}) n`)
      await run(`insert into tokens (id, user_id, name, hash, created_at)
        select ${idSql("token", "n")}, ${idSql("user", "n")}, 't', md5(n::text) || md5('x' || n), now()
        from generate_series(1, ${size}) n`)
      await run(`insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
        select ${idSql("agent", "n")}, ${ws("n")}, 'A', true, now(), now() from generate_series(1, ${size}) n`)
      await run(`insert into runs (id, workspace_id, status, prompt, autonomy_level, attempts, epoch, created_at,
          updated_at, finished_at, pruned)
        select ${idSql("run", "n")}, ${ws("n")}, 'COMPLETED', 'p', 'autonomous', 1, 1, now(), now(), now(), 2
        from generate_series(1, ${size}) n`)
    },
  operations: () => [
    { what: "GET workspaces (one)", run: (site) => ask(site, "GET", "/api/workspaces") },
    { what: "GET members", run: (site) => ask(site, "GET", `/api/workspaces/${site.workspaceId}/members`) },
    { what: "GET tokens", run: (site) => ask(site, "GET", "/api/tokens") },
    {
      what: "POST a token",
      run: (site, n) => ask(site, "POST", "/api/tokens", { name: `token ${n}` })
    },
    { what: "POST a workspace", run: (site, n) => ask(site, "POST", "/api/workspaces", { name: `W ${n}` }) },
    { what: "GET agents of ours", run: listed("/api/agents", "&limit=50") },
    {
      what: "GET /metrics",
      run: async (site) => void (await (await fetch(`${site.nodes.server(0).baseUrl}/metrics`)).text())
    },
    task
  ]
}
