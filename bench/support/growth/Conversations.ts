import type { Law } from "../Growth.ts"
import type { Site } from "../Site.ts"
import { ask, idOf, idSql, listed, say, untilNone } from "./Operations.ts"

/** As many as operations and repetitions need of each length: what is said in one does not lengthen another. */
const conversations = 70

/** Conversations of so many messages each; `env` has the model that answers. */
export const longConversations = (env: Readonly<Record<string, string>>): Law => ({
  name: "messages of a conversation",
  of: "messages",
  sizes: [10, 100, 1_000, 10_000],
  few: [10, 1_000],
  env,
  seed:
    (size) =>
    async ({ run, workspaceId }) => {
      await run(`insert into conversations (id, workspace_id, title, owner_id, created_at, updated_at)
        select ${idSql("conv", "n")}, '${workspaceId}', 'Conversation ' || n, created_by, now(), now()
        from generate_series(0, ${conversations - 1}) n, workspaces where workspaces.id = '${workspaceId}'`)
      await run(`insert into messages (id, conversation_id, role, content, created_at, parts)
        select 'msg_' || c || '_' || m, ${idSql("conv", "c")}, case when m % 2 = 1 then 'USER' else 'ASSISTANT' end,
          repeat('some words ', 18), now() - (${size} - m) * interval '1 second', null
        from generate_series(0, ${conversations - 1}) c, generate_series(1, ${size}) m order by c, m`)
    },
  operations: (size) => {
    const path = (n: number) => `/api/chat/conversations/${idOf("conv", n % conversations)}`
    return [
      { what: "GET a conversation, limit 50", run: (site, n) => ask(site, "GET", `${path(n)}?limit=50`) },
      {
        what: "GET a conversation, limit 50, before the middle",
        run: (site, n) =>
          ask(site, "GET", `${path(n)}?limit=50&before=msg_${n % conversations}_${Math.max(2, size / 2)}`)
      },
      { what: "GET a conversation as a whole", run: (site, n) => ask(site, "GET", path(n)) },
      { what: "GET conversations, limit 50", run: listed("/api/chat/conversations", "&limit=50") },
      {
        what: "a message to its first event",
        run: async (site, n) => {
          const { first } = await say(site, { content: "go on", conversationId: idOf("conv", n % 35) })
          return first
        }
      },
      {
        what: "a message to its last event",
        run: async (site, n) => {
          const { whole } = await say(site, { content: "go on", conversationId: idOf("conv", 35 + (n % 35)) })
          return whole
        }
      },
      {
        what: "DELETE a conversation",
        most: 5,
        run: async (site, n) => void (await site.client(0).request("DELETE", path(60 + n)))
      }
    ]
  }
})

/** Reads what the one run told behind this event, to its end: so many words. */
const replay = async (site: Site, behind: number, count: number) => {
  const answer = await fetch(`${site.nodes.server(0).baseUrl}/api/runs/${idOf("run", 1)}/events`, {
    headers: { authorization: `Bearer ${site.token}`, "last-event-id": String(behind) }
  })
  const text = await answer.text()
  const found = text.split("\nevent: status").length - 1
  if (found !== count || !text.includes("event: done"))
    throw new Error(`${found} of ${count} events: ${text.slice(-200)}`)
}

/** One run with so many events, of a hundred to a batch. */
export const longStreams: Law = {
  name: "events of a run",
  of: "events",
  sizes: [100, 1_000, 10_000, 100_000],
  few: [100, 1_000],
  seed:
    (size) =>
    async ({ run, workspaceId }) => {
      await run(`insert into runs (id, workspace_id, status, prompt, output, autonomy_level, attempts, epoch, created_at,
          updated_at, started_at, finished_at)
        values (${idSql("run", "1")}, '${workspaceId}', 'COMPLETED', 'p', 'o', 'autonomous', 1, 1, now(), now(), now(),
          now())`)
      await run(`insert into run_events (run_id, first_id, last_id, events)
        select ${idSql("run", "1")}, (b - 1) * 100 + 1, b * 100, (
          select jsonb_agg(jsonb_build_object('id', (b - 1) * 100 + e, 'event',
            '{"event":"status","data":{"status":"responding","delta":"some words "}}'::jsonb) order by e)
          from generate_series(1, 100) e)
        from generate_series(1, ${size / 100}) b`)
    },
  operations: (size) => [
    { what: "GET events behind all but 50", run: (site) => replay(site, size - 50, 50) },
    { what: "GET all events", run: (site) => replay(site, 0, size) }
  ]
}

/** Conversations of a workspace with two messages each, a hundredth of them with one agent. */
export const storedConversations: Law = {
  name: "conversations stored",
  of: "conversations",
  sizes: [1_000, 10_000, 100_000],
  few: [1_000, 10_000],
  seed:
    (size) =>
    async ({ run, workspaceId }) => {
      await run(`insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
        select ${idSql("agent", "n")}, '${workspaceId}', 'Agent ' || n, true, now(), now() from generate_series(1, 100) n`)
      await run(
        `insert into projects (id, workspace_id, name, created_at) values ('proj_1', '${workspaceId}', 'P', now())`
      )
      await run(`insert into conversations (id, workspace_id, project_id, title, agent_id, owner_id, created_at, updated_at)
        select ${idSql("conv", "n")}, '${workspaceId}', case when n <= 10 then 'proj_1' end, 'Conversation ' || n,
          ${idSql("agent", "1 + n % 100")}, created_by, at, at
        from (select n, now() - (${size} - n) * interval '1 second' as at from generate_series(1, ${size}) n) given,
          workspaces where workspaces.id = '${workspaceId}'`)
      await run(`insert into messages (id, conversation_id, role, content, created_at)
        select 'msg_' || c || '_' || m, ${idSql("conv", "c")}, case when m = 1 then 'USER' else 'ASSISTANT' end,
          repeat('some words ', 18), now()
        from generate_series(1, ${size}) c, generate_series(1, 2) m order by c, m`)
    },
  operations: (size) => [
    { what: "GET conversations, limit 50", run: listed("/api/chat/conversations", "&limit=50") },
    {
      what: "GET conversations, limit 50, offset of a half",
      run: listed("/api/chat/conversations", `&limit=50&offset=${size / 2}`)
    },
    {
      what: "GET conversations of a project that has ten",
      run: listed("/api/chat/conversations", "&limit=50&projectId=proj_1")
    },
    {
      what: "a message that begins a conversation, to its last event",
      run: async (site) => (await say(site, { content: "hello", selectedProvider: "offline" })).whole
    },
    {
      what: "DELETE an agent with a hundredth of the conversations, till it is gone",
      most: 1,
      run: async (site) => {
        const agent = idOf("agent", 42)
        await ask(site, "DELETE", `/api/agents/${agent}`)
        await untilNone(site, `select count(*)::int as count from agents where id = '${agent}'`)
      }
    }
  ]
}
