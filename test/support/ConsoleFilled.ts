import type { Credentials } from "../../src/Schemas/Account.ts"
import { makeClient } from "./Process.ts"
import { listen, serveTools } from "./ToolServer.ts"
import { until } from "./Until.ts"

/** Something of everything that the console shows, of an offline provider, by the API alone. */
export const fillConsole = async (baseUrl: string, { token, workspaceId }: Credentials) => {
  const client = makeClient(baseUrl, token)
  const make = async (path: string, body: object): Promise<string> => {
    const answer = await client.request("POST", path, { workspaceId, ...body })
    if (answer.status >= 300) throw new Error(`${path}: ${await answer.text()}`)
    return ((await answer.json()) as { data: { id: string } }).data.id
  }
  const put = (path: string, body: object) => client.json("PUT", path, body)
  const ended = (id: string, status: string) =>
    until(
      async () => (await client.json("GET", `/api/runs/${id}`)).data.status === status,
      `${id} is ${status}`
    )

  const inputSchema = { type: "object", properties: { text: { type: "string" } } }
  const tools = await serveTools({
    tools: [
      {
        name: "look_up",
        description: "Looks something up",
        inputSchema,
        annotations: { readOnlyHint: true }
      },
      {
        name: "delete_everything",
        description: "Deletes it all. ".repeat(30),
        inputSchema,
        annotations: { destructiveHint: true }
      }
    ],
    call: async () => "done"
  })
  const hook = await listen(async (request, response) => {
    response.writeHead(request.url === "/bad" ? 500 : 204).end()
  })

  const agent = await make("/api/agents", {
    name: "Researcher",
    description: "Looks things up",
    systemPrompt: "Be brief, and say where you have it from."
  })
  await make("/api/agents", {
    name: "An agent whose name is quite a bit longer than any name has to be, to see what becomes of it"
  })
  await put(`/api/agents/${agent}/policy`, {
    tools: [
      { match: "remember", rule: "allow" },
      { match: "current_time", rule: "allow" },
      { match: "*", rule: "ask" }
    ]
  })
  const connector = await make("/api/connectors", {
    type: "mcp",
    providerName: "Tools",
    metadata: { url: tools.url }
  })
  const failing = await make("/api/connectors", {
    type: "mcp",
    providerName: "Nobody",
    metadata: { url: "http://127.0.0.1:1/mcp" }
  })
  for (const id of [connector, failing]) await client.json("POST", `/api/connectors/${id}/check`)
  await make("/api/provider-keys", {
    name: "A slow one",
    provider: "openai-compatible",
    model: "a-model-with-a-long-name-2026-11",
    baseUrl: "https://models.example.org/v1",
    apiKey: "k",
    pricing: { inputPerMillion: 1, outputPerMillion: 4 }
  })
  await client.json("PATCH", `/api/workspaces/${workspaceId}`, { defaultProviderKeyId: null })
  await make("/api/webhooks", { url: `${hook.base}/good`, events: ["run.failed"] })
  const webhook = await make("/api/webhooks", {
    url: `${hook.base}/bad`,
    events: ["*"],
    description: "Of the team"
  })

  const completed = await make("/api/tasks", {
    agentId: agent,
    prompt:
      'Find out what time it is\ncall current_time {"timezone":"Asia/Tokyo"}\ncall remember {"key":"zone","value":"Asia/Tokyo"}'
  })
  await make("/api/tasks", { prompt: "A longer task, ".repeat(40) })
  await ended(completed, "COMPLETED")
  await put(`/api/workspaces/${workspaceId}/budget`, { runTokens: 0 })
  const failed = await make("/api/tasks", { prompt: "Too dear" })
  await ended(failed, "FAILED")
  await put(`/api/workspaces/${workspaceId}/budget`, { monthlyUsd: 20, monthlyTokens: 1_000 })
  const waiting = await make("/api/tasks", {
    prompt: 'call remember {"key":"plan","value":"a plan that somebody has to allow"}',
    autonomyLevel: "supervised"
  })
  await ended(waiting, "WAITING_APPROVAL")

  const job = await make("/api/cron-jobs", {
    name: "Nightly report",
    schedule: "*/10 * * * *",
    timezone: "Europe/Berlin",
    agentId: agent,
    prompt: "Report what happened"
  })
  const to = new Date(Math.floor(Date.now() / 60_000) * 60_000)
  const from = new Date(to.getTime() - 3 * 3_600_000)
  await client.json("POST", `/api/cron-jobs/${job}/backfill`, {
    from: from.toISOString(),
    to: to.toISOString(),
    only: "all"
  })
  await until(
    async () => (await client.json("GET", `/api/cron-jobs/${job}/fires`)).data.length > 3,
    "slots are made up"
  )

  const chat = await client.request("POST", "/api/chat/messages", {
    workspaceId,
    agentId: agent,
    content: 'Write down where we live\ncall remember {"key":"city","value":"Bonn"}'
  })
  await chat.text()
  const { data: conversations } = await client.json(
    "GET",
    `/api/chat/conversations?workspaceId=${workspaceId}`
  )
  return {
    agent,
    completed,
    connector,
    conversation: conversations[0].id as string,
    failed,
    failing,
    job,
    waiting,
    webhook,
    close: async () => {
      hook.close()
      tools.close()
    }
  }
}
