import { randomBytes } from "node:crypto"
import { makeAccount, makeNodes, onDatabase } from "../../test/support/Durability.ts"
import { removedAtTheEnd } from "../../test/support/PostgresServer.ts"
import { passWebhookTime } from "../../test/support/WebhookTime.ts"

/** A database of its own with nodes over it, whose webhooks may be on this machine, and what webhooks need. */
export const openWebhookSite = async (
  server: string,
  nodeCount: number,
  env: Readonly<Record<string, string>> = {}
) => {
  const database = `webhooks_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql.unsafe(`create database ${database}`))
  const url = `${server}/${database}`
  const nodes = makeNodes(url, () => ({}), {
    AGENTD_SECRET_KEY: randomBytes(32).toString("base64"),
    AGENTD_RATE_PER_MINUTE: "0",
    AGENTD_QUOTAS: '{"free":{"pendingRuns":null,"webhooks":null,"workspacesOwned":null}}',
    AGENTD_RUNS_PER_WORKSPACE: "100",
    AGENTD_RUNS_PER_OWNER: "200",
    AGENTD_DATABASE_TIMEOUT_SECONDS: "60",
    ...env
  })
  const forget = removedAtTheEnd(() => void nodes.stopAll())
  const all = Array.from({ length: nodeCount }, (_, node) => node)
  await Promise.all(all.map((node) => nodes.start(node)))
  const account = await makeAccount(url, nodes)
  const call = async (method: string, path: string, json?: object, node = 0) => {
    const answer = await account.client(node).request(method, path, json)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text).data
  }
  return {
    account,
    all,
    call,
    nodes,
    url,
    addresses: all.map((node) => () => nodes.server(node).baseUrl),
    workspace: async (name: string): Promise<string> => (await call("POST", "/api/workspaces", { name })).id,
    hook: (
      workspaceId: string,
      at: string,
      events: ReadonlyArray<string> = ["*"]
    ): Promise<{ readonly id: string; readonly secret: string }> =>
      call("POST", "/api/webhooks", { workspaceId, url: at, events }),
    passTime: (millis: number) => passWebhookTime(url, millis),
    /** How many deliveries there are of each status, of one webhook or of all. */
    deliveries: async (webhookId?: string): Promise<Readonly<Record<string, number>>> => {
      const rows = await onDatabase(
        url,
        (sql) => sql<{ status: string; count: number }>`
          select status, count(*)::int as count from webhook_deliveries
          where ${webhookId ?? null}::text is null or webhook_id = ${webhookId ?? null} group by status`
      )
      return Object.fromEntries(rows.map(({ count, status }) => [status, count]))
    },
    close: async () => {
      await nodes.stopAll()
      forget()
      await onDatabase(`${server}/postgres`, (sql) => sql.unsafe(`drop database ${database} with (force)`))
    }
  }
}

export type WebhookSite = Awaited<ReturnType<typeof openWebhookSite>>

/** What has happened by what is stored, a line each: its type and the id of what it is of. */
export const happened = async ({ url }: WebhookSite): Promise<ReadonlyArray<string>> => {
  const rows = await onDatabase(
    url,
    (sql) => sql<{ type: string; id: string }>`
      select case kind when 'turn' then 'turn.' else 'run.' end || lower(status) as type, id from runs
      where status in ('COMPLETED', 'FAILED') or status = 'CANCELLED' and kind = 'task'
      union all select 'approval.decided', id from approvals where status in ('APPROVED', 'REJECTED')
      union all select 'run.waiting_approval', run_id from approvals`
  )
  return rows.map(({ id, type }) => `${type} ${id}`)
}

/** Of two lists of lines that may be there more than once: what only the one has, and what only the other. */
export const difference = (one: ReadonlyArray<string>, other: ReadonlyArray<string>) => {
  const counts = new Map<string, number>()
  for (const line of one) counts.set(line, (counts.get(line) ?? 0) + 1)
  for (const line of other) counts.set(line, (counts.get(line) ?? 0) - 1)
  const where = (is: (count: number) => boolean) =>
    Array.from(counts).flatMap(([line, count]) => (is(count) ? [line] : []))
  return { missing: where((count) => count > 0), more: where((count) => count < 0) }
}
