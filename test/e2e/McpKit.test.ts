import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Kit from "../support/McpKit.ts"
import { makeClient, makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

// biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
type Answer = any

const name = "what others check servers of MCP with"

describe.skipIf(!Kit.isInstalled)(Kit.isInstalled ? name : `${name} (skipped: ${Kit.needed})`, () => {
  const dataDir = makeDataDir()
  let server: Server
  let token: string
  let url: string

  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path, AGENTD_RATE_PER_MINUTE: "0" })
    const credentials = readCredentials(dataDir.path)
    token = credentials.token
    url = `${server.baseUrl}/mcp`
    const { workspaceId } = credentials
    await makeClient(server.baseUrl, token).json("POST", "/api/agents", { workspaceId, name: "Bot" })
  })
  afterAll(async () => {
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  it("the inspector lists the tools, with nothing to say against their schemas, and calls", async () => {
    const listed = await Kit.inspect(url, token, "--method", "tools/list", "--strict")
    assert.deepStrictEqual(
      [listed.json.tools.length, listed.json.tools.at(-1).name, listed.stderr],
      [8, "Bot", ""]
    )
    const call = async (...words: ReadonlyArray<string>) =>
      (await Kit.inspect(url, token, "--method", "tools/call", "--tool-name", ...words)).json
    const answered = await call("Bot", "--tool-arg", "prompt=hello")
    assert.include(answered.content[0].text, "You wrote: hello")
    const kept = await call("remember", "--tool-arg", "key=k", "value=v")
    assert.strictEqual(kept.structuredContent.value, "v")
  })

  it("the official client of 2026-07-28 finds out the version, calls, and asks its user", async () => {
    const { Client, StreamableHTTPClientTransport } = await Kit.loadModernClient()
    const client = new Client(
      { name: "test", version: "1" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } }
    )
    let asked = 0
    client.setRequestHandler("elicitation/create", () => {
      asked++
      return { action: "accept", content: { decision: "approve" } }
    })
    const headers = { authorization: `Bearer ${token}` }
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    await client.connect(transport)
    assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
    assert.lengthOf((await client.listTools()).tools, 8)
    const told: Array<string | undefined> = []
    const given = { prompt: 'call remember {"key":"k","value":"v"}', autonomyLevel: "supervised" }
    const answer: Answer = await client.callTool(
      { name: "Bot", arguments: given },
      { onprogress: ({ message }) => void told.push(message) }
    )
    assert.include(answer.content[0].text, "remember returned")
    assert.deepStrictEqual([asked, answer.structuredContent.status], [1, "COMPLETED"])
    assert.include(told, "thinking")
    await client.close()
  })

  it("the conformance suite passes, but for what the page about it gives a reason for", async () => {
    const scenarios = await Kit.conform(url, token)
    assert.isAbove(scenarios.length, 60)
    const page = readFileSync(resolve(import.meta.dirname, "../../docs/mcp-server.md"), "utf8")
    const reasons = page.slice(page.indexOf("## Conformance"))
    const failed = scenarios.filter(({ failed }) => failed > 0).map(({ name }) => name)
    const excused = Array.from(reasons.matchAll(/`([\w-]+)`/gu), ([, scenario = ""]) => scenario).filter(
      (scenario) => scenarios.some(({ name }) => name === scenario)
    )
    assert.deepStrictEqual(failed.toSorted(), excused.toSorted())
  })
})
