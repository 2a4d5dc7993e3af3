import type { Law, Operation } from "../Growth.ts"
import { ask, idOf, idSql, listed, runTask, say } from "./Operations.ts"

const shared = ({ workspaceId }: { readonly workspaceId: string }) => ({ workspaceId })

/** What all resources have, of which `size` are there. */
const crud = (
  path: string,
  prefix: string,
  size: number,
  make: (n: string) => object,
  change: object | undefined
): ReadonlyArray<Operation> => [
  { what: `GET ${path}, limit 50`, run: listed(path, "&limit=50") },
  {
    what: `GET ${path}, limit 50, after the middle`,
    run: listed(path, `&limit=50&after=${idOf(prefix, size / 2)}`)
  },
  {
    what: `GET ${path}, limit 50, of a project that has ten`,
    run: listed(path, "&limit=50&projectId=proj_1")
  },
  { what: `GET ${path}/{id}`, run: (site, n) => ask(site, "GET", `${path}/${idOf(prefix, size - n)}`) },
  {
    what: `POST ${path}`,
    run: (site, n) => ask(site, "POST", path, { ...shared(site), ...make(`${n} ${Math.random()}`) })
  },
  ...(change === undefined
    ? []
    : [
        {
          what: `PATCH ${path}/{id}`,
          run: (site, n) => ask(site, "PATCH", `${path}/${idOf(prefix, size - n)}`, change)
        } satisfies Operation
      ]),
  {
    what: `DELETE ${path}/{id}`,
    run: (site, n) => ask(site, "DELETE", `${path}/${idOf(prefix, n + 1)}`)
  }
]

/** Active jobs that are due once a year, in the months to come. */
const seed: Law["seed"] =
  (size) =>
  async ({ run, workspaceId }) => {
    const from = `from (select n, now() - (${size} - n) * interval '1 second' as at from generate_series(1, ${size}) n) given`
    // Of each the last ones, which lists from the first on meet behind all others.
    const project = `case when n > ${size} - 10 then 'proj_1' end`
    await run(
      `insert into projects (id, workspace_id, name, created_at) values ('proj_1', '${workspaceId}', 'P', now())`
    )
    await run(`insert into agents (id, workspace_id, project_id, name, description, is_active, created_at, updated_at)
      select ${idSql("agent", "n")}, '${workspaceId}', ${project}, 'Agent ' || n, repeat('x', 200), true, at, at ${from}`)
    await run(`insert into cron_jobs (id, workspace_id, project_id, agent_id, name, schedule, timezone, prompt, is_active, next_fire_at,
        created_at, updated_at)
      select ${idSql("cron", "n")}, '${workspaceId}', ${project}, ${idSql("agent", "n")}, 'Job ' || n, '@yearly', 'UTC', repeat('p', 200),
        true, now() + interval '1 day' + n * interval '1 second', at, at ${from}`)
    await run(`insert into memory_entries (id, workspace_id, project_id, key, value, category, created_at, updated_at)
      select ${idSql("mem", "n")}, '${workspaceId}', ${project}, 'key ' || n, 'common words and the rare number' || n || repeat(' more', 30),
        case when n > ${size} - 10 then 'rare' else 'category ' || n % 100 end, at, at ${from}`)
  }

export const resources: Law = {
  name: "agents, cron jobs and memory entries",
  of: "of each",
  sizes: [1_000, 10_000, 100_000],
  few: [1_000, 10_000],
  seed,
  operations: (size) => [
    ...crud("/api/agents", "agent", size, (n) => ({ name: `Agent ${n}` }), { description: "other" }),
    ...crud("/api/cron-jobs", "cron", size, (n) => ({ name: `Job ${n}`, schedule: "@yearly", prompt: "p" }), {
      prompt: "other"
    }),
    ...crud("/api/chat/memory", "mem", size, (n) => ({ key: `new ${n}`, value: "some words" }), undefined),
    {
      what: "POST /api/chat/memory, a key that is there",
      run: (site, n) =>
        ask(site, "POST", "/api/chat/memory", { ...shared(site), key: `key ${size / 2 + n}`, value: "other" })
    },
    { what: "GET memory by key", run: listed("/api/chat/memory", `&key=key%20${size / 2}`) },
    {
      what: "GET memory by category, limit 50",
      run: listed("/api/chat/memory", "&limit=50&category=category%2042")
    },
    {
      what: "GET memory by a category that has ten, limit 50",
      run: listed("/api/chat/memory", "&limit=50&category=rare")
    },
    {
      what: "recall by a rare word, in a chat turn",
      run: async (site) =>
        (
          await say(site, {
            content: `call recall {"query":"number${size / 2}"}`,
            selectedProvider: "offline"
          })
        ).whole
    },
    {
      what: "recall by words that all have, in a chat turn",
      run: async (site) =>
        (await say(site, { content: `call recall {"query":"common words"}`, selectedProvider: "offline" }))
          .whole
    },
    {
      what: "recall of what none has, in a chat turn",
      run: async (site) =>
        (await say(site, { content: `call recall {"query":"mon wor zzz"}`, selectedProvider: "offline" }))
          .whole
    },
    { what: "GET usage", run: (site) => ask(site, "GET", `/api/workspaces/${site.workspaceId}/usage`) },
    { what: "a task from POST to its last event", run: (site) => runTask(site) }
  ]
}
