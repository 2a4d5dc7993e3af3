import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeAccount, makeNodes, type Nodes, startModel } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"

// biome-ignore lint/suspicious/noExplicitAny: what a client in any language sees
type Answer = any

const name = "the official client of MCP over nodes that die"

/** One address before the nodes: each connection goes to one that lives, another one each time. */
const balance = async (targets: () => ReadonlyArray<string>) => {
  let turn = 0
  const proxy = createServer((asked, answer) => {
    const all = targets()
    const { hostname, port } = new URL(all[turn++ % all.length] ?? "")
    const sent = request({ hostname, port, method: asked.method, path: asked.url, headers: asked.headers })
    sent.on("response", (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.on("error", () => answer.destroy())
      response.pipe(answer)
    })
    sent.on("error", () => answer.destroy())
    answer.on("close", () => sent.destroy())
    asked.pipe(sent)
  })
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done))
  return {
    url: new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`),
    close: () => {
      proxy.closeAllConnections()
      proxy.close()
    }
  }
}

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let model: Awaited<ReturnType<typeof startModel>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  let front: Awaited<ReturnType<typeof balance>>
  let living = [0, 1]

  beforeAll(async () => {
    model = await startModel(50)
    const url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, (node) => model.env(node), { AGENTD_LEASE_SECONDS: "5" })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes)
    front = await balance(() => living.map((node) => nodes.server(node).baseUrl))
    const { workspaceId } = account
    await account.client(0).json("POST", "/api/agents", { workspaceId, name: "Worker" })
  })
  afterAll(async () => {
    front?.close()
    await nodes?.stopAll()
    model?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("is served by any of them, and gets the answer of a call whose node was killed", async () => {
    const client = new Client({ name: "test", version: "1" })
    const requestInit = { headers: { authorization: `Bearer ${account.token}` } }
    const transport = new StreamableHTTPClientTransport(front.url, { requestInit })
    await client.connect(transport as never)
    for (let n = 0; n < 4; n++) assert.lengthOf((await client.listTools()).tools, 8)

    const told: Array<number> = []
    const beginning = Promise.withResolvers<void>()
    const calling = client.callTool(
      { name: "Worker", arguments: { prompt: "job 1 stream 100" } },
      CallToolResultSchema,
      {
        timeout: 200_000,
        onprogress: ({ message, progress }) => {
          told.push(progress)
          if (message?.startsWith("answering") === true) beginning.resolve()
        }
      }
    ) as Promise<Answer>
    await beginning.promise
    const [asked] = model.calls
    const dead = asked?.node ?? 0
    living = [1 - dead]
    await nodes.kill(dead)

    const { content, structuredContent } = await calling
    assert.strictEqual(structuredContent.status, "COMPLETED")
    const words: ReadonlyArray<string> = content[0].text.trim().split(" ")
    assert.strictEqual(words.length, 100)
    // Told once, by the node that took it over; progress only ever grew.
    assert.strictEqual(new Set(words.map((word) => word.split(".")[1])).size, 1)
    assert.isTrue(told.every((progress, at) => at === 0 || progress > (told[at - 1] ?? 0)))
    assert.strictEqual(model.calls.filter(({ job }) => job === 1).length, 2)
    const { runs, total }: Answer = ((await client.callTool({ name: "list_runs", arguments: {} })) as Answer)
      .structuredContent
    assert.deepStrictEqual([total, runs[0].id], [1, structuredContent.id])
    await client.close()
  })
})
