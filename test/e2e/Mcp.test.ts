import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { makeClient, makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

// biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
type Answer = any

describe("the official client of MCP, unchanged", () => {
  const dataDir = makeDataDir()
  let server: Server
  let token: string
  let workspaceId: string

  beforeAll(async () => {
    server = await startServer({
      AGENTD_DATA_DIR: dataDir.path,
      // Its own address is one of them, below.
      AGENTD_ALLOW_PRIVATE_ADDRESSES: "true"
    })
    const credentials = readCredentials(dataDir.path)
    token = credentials.token
    workspaceId = credentials.workspaceId
    await makeClient(server.baseUrl, token).json("POST", "/api/agents", {
      workspaceId,
      name: "Research Bot",
      description: "Finds things out."
    })
  })
  afterAll(async () => {
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  const connect = async (capabilities: object = {}) => {
    const client = new Client({ name: "test", version: "1" }, { capabilities })
    const requestInit = { headers: { authorization: `Bearer ${token}` } }
    const transport = new StreamableHTTPClientTransport(new URL(`${server.baseUrl}/mcp`), { requestInit })
    await client.connect(transport as never)
    return { client, transport }
  }
  const supervised = { prompt: 'call remember {"key":"k","value":"v"}', autonomyLevel: "supervised" }

  it("lists and calls, and checks what it gets against the schemas", async () => {
    const { client, transport } = await connect()
    const { tools } = await client.listTools()
    assert.deepStrictEqual(
      tools.map(({ annotations, name }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]),
      [
        ["send_task", false, true],
        ["get_run", true, false],
        ["cancel_run", false, true],
        ["list_runs", true, false],
        ["chat", false, true],
        ["remember", false, true],
        ["recall", true, false],
        ["Research_Bot", false, true]
      ]
    )
    const told: Array<string | undefined> = []
    const call = (name: string, given: object) =>
      client.callTool({ name, arguments: { ...given } }, CallToolResultSchema, {
        onprogress: ({ message }) => void told.push(message)
      }) as Promise<Answer>
    const found = await call("Research_Bot", { prompt: "call current_time {}" })
    assert.include(found.content[0].text, "current_time returned")
    assert.includeMembers(told, ["thinking", "calling current_time", "current_time answered"])
    const { id } = found.structuredContent
    assert.strictEqual((await call("get_run", { runId: id })).structuredContent.status, "COMPLETED")
    const sent = (await call("send_task", { prompt: "hi", waitSeconds: 60 })).structuredContent
    assert.strictEqual(sent.status, "COMPLETED")
    assert.strictEqual((await call("list_runs", {})).structuredContent.total, 2)
    assert.include((await call("chat", { message: "hello" })).content[0].text, "You wrote: hello")
    await call("remember", { key: "colour", value: "green" })
    assert.strictEqual((await call("recall", { query: "gre" })).structuredContent.entries[0].key, "colour")
    assert.isTrue((await call("cancel_run", { runId: id })).isError)
    await transport.terminateSession()
    await client.close()
  })

  it("asks its user, who decides as people do elsewhere", async () => {
    const { client } = await connect({ elicitation: {} })
    const asked: Array<string> = []
    for (const [decision, words] of [
      ["approve", "remember returned"],
      ["reject", "not allowed by the person in charge: too green"]
    ] as const) {
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        asked.push(params.message)
        return { action: "accept", content: { decision, reason: "too green" } }
      })
      const answer: Answer = await client.callTool({ name: "Research_Bot", arguments: supervised })
      assert.include(answer.content[0].text, words)
    }
    assert.lengthOf(asked, 2)
    assert.include(asked[0] ?? "", 'call the tool remember with these arguments:\n{"key":"k","value":"v"}')
    await client.close()
  })

  it("follows tasks of the protocol to their ends", async () => {
    const { client } = await connect({ elicitation: {} })
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: "accept",
      content: { decision: "approve" }
    }))
    const seen: Array<string> = []
    let result: Answer
    for await (const message of client.experimental.tasks.callToolStream(
      { name: "Research_Bot", arguments: supervised },
      CallToolResultSchema,
      { task: { ttl: 60_000 } }
    )) {
      seen.push(message.type === "taskStatus" ? message.task.status : message.type)
      if (message.type === "result") result = message.result
      if (message.type === "error") throw message.error
    }
    assert.strictEqual(seen[0], "taskCreated")
    assert.strictEqual(seen.at(-1), "result")
    assert.include(result.content[0].text, "remember returned")
    const { tasks } = await client.experimental.tasks.listTasks()
    assert.strictEqual(tasks[0]?.taskId, result.structuredContent.id)
    const again: Answer = await client.experimental.tasks.getTaskResult(
      result.structuredContent.id,
      CallToolResultSchema
    )
    assert.deepStrictEqual(again.structuredContent, result.structuredContent)
    await client.close()
  })

  it("takes a call back, which ends its run", async () => {
    const { client } = await connect()
    const leaving = new AbortController()
    const calling = client.callTool({ name: "Research_Bot", arguments: supervised }, CallToolResultSchema, {
      signal: leaving.signal,
      onprogress: ({ message }) => {
        if (message?.startsWith("waiting for the approval")) leaving.abort()
      }
    })
    await calling.then(
      () => assert.fail("it was answered"),
      () => undefined
    )
    const runs: Answer = await client.callTool({ name: "list_runs", arguments: { limit: 1 } })
    const [{ id }] = runs.structuredContent.runs
    const ended: Answer = await client.callTool({
      name: "get_run",
      arguments: { runId: id, waitSeconds: 60 }
    })
    assert.strictEqual(ended.structuredContent.status, "CANCELLED")
    await client.close()
  })

  it("goes away: since 2026-07-28 that takes the call back, before it changes nothing", async () => {
    const { client } = await connect()
    const statusOf = async (runId: string): Promise<string> =>
      ((await client.callTool({ name: "get_run", arguments: { runId } })) as Answer).structuredContent.status
    const leave = async (version: string) => {
      const params = {
        name: "Research_Bot",
        arguments: supervised,
        _meta: {
          progressToken: 1,
          ...(version === "2026-07-28" && {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {}
          })
        }
      }
      const leaving = new AbortController()
      const response = await fetch(`${server.baseUrl}/mcp`, {
        method: "POST",
        signal: leaving.signal,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": version,
          "mcp-method": "tools/call",
          "mcp-name": "Research_Bot"
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })
      })
      let told = ""
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        told += piece
        if (told.includes("waiting for the approval")) break
      }
      leaving.abort()
      const runs: Answer = await client.callTool({ name: "list_runs", arguments: { limit: 1 } })
      return runs.structuredContent.runs[0].id as string
    }
    const kept = await leave("2025-11-25")
    const taken = await leave("2026-07-28")
    await until(async () => (await statusOf(taken)) === "CANCELLED", "the run is cancelled")
    assert.strictEqual(await statusOf(kept), "WAITING_APPROVAL")
    await client.close()
  })

  it("has a peer in our own: an agentd uses another as a connector", async () => {
    const api = makeClient(server.baseUrl, token)
    const connector = {
      workspaceId,
      type: "mcp",
      providerName: "peer",
      metadata: { url: `${server.baseUrl}/mcp`, credential: token }
    }
    const made = await api.json("POST", "/api/connectors", connector)
    assert.isString(made.data.id)
    const prompt = 'call peer__Research_Bot {"prompt":"call current_time {}"}'
    const { data } = await api.json("POST", "/api/tasks", {
      workspaceId,
      prompt,
      autonomyLevel: "autonomous"
    })
    const response = await fetch(`${server.baseUrl}/api/runs/${data.id}`, {
      headers: { authorization: `Bearer ${token}`, prefer: "wait=60" }
    })
    const run = ((await response.json()) as Answer).data
    assert.strictEqual(run.status, "COMPLETED", run.error)
    assert.include(run.output, "current_time returned")
  })
})
