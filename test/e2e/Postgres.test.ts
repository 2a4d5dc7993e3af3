import type { ServerResponse } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeServer } from "../support/Models.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { makeClient, runCommand, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const name = "two nodes on one PostgreSQL"

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let nodes: ReadonlyArray<Server> = []
  let credentials: { readonly workspaceId: string; readonly token: string }
  let env: Readonly<Record<string, string>>

  beforeAll(async () => {
    env = {
      DATABASE_URL: await Effect.runPromise(Scope.provide(emptyDatabase, scope)),
      AGENTD_ALLOW_PRIVATE_ADDRESSES: "true",
      AGENTD_SECRET_KEY: Buffer.alloc(32, 7).toString("base64")
    }
    nodes = await Promise.all([startServer(env), startServer(env)])
    const made = await runCommand(env, "bootstrap", "--json")
    credentials = JSON.parse(made.stdout)
  })
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop("SIGKILL")))
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
  const client = (index: number) => makeClient(nodes[index]?.baseUrl ?? "", credentials.token)

  it("start together on an empty database and make nothing by themselves", async () => {
    for (const node of nodes) assert.match(node.stdout(), /^agentd listening on \S+\n$/)
    const again = await runCommand(env, "bootstrap")
    assert.strictEqual(again.code, 1)
    assert.include(again.stderr, "there are users already")
  })

  it("see each other's agents, conversations and runs", async () => {
    const { workspaceId } = credentials
    const { data: agent } = await client(0).json("POST", "/api/agents", { workspaceId, name: "A" })
    assert.deepStrictEqual((await client(1).json("GET", `/api/agents/${agent.id}`)).data, agent)
    const events = await client(1).chat({ workspaceId, content: "hi", agentId: agent.id })
    assert.strictEqual(events.at(-1)?.event, "done")
    const id = events[0]?.data.conversationId
    const read = await client(0).json("GET", `/api/chat/conversations/${id}`)
    assert.strictEqual(read.data.messages.length, 2)
    const { data: created } = await client(0).json("POST", "/api/tasks", { workspaceId, prompt: "work" })
    let run = created
    while (run.status === "PENDING" || run.status === "RUNNING") {
      run = (await client(1).json("GET", `/api/runs?workspaceId=${workspaceId}&limit=1`)).data[0]
    }
    assert.deepInclude(run, { id: created.id, status: "COMPLETED" })
  })

  it("answer who waits on one for a run of the other when it is over", async () => {
    const { workspaceId } = credentials
    let release: (() => void) | undefined
    const model = await Effect.runPromise(
      Scope.provide(
        makeServer((response: ServerResponse) => {
          release = () =>
            response.end(
              JSON.stringify({ choices: [{ message: { content: "done" }, finish_reason: "stop" }] })
            )
        }),
        scope
      )
    )
    const { data: key } = await client(1).json("POST", "/api/provider-keys", {
      ...{ workspaceId, name: "held", provider: "openai-compatible", model: "m", baseUrl: `${model.url}/v1` }
    })
    const task = { workspaceId, prompt: "work", providerKeyId: key.id }
    const { data: run } = await client(1).json("POST", "/api/tasks", task)
    await until(() => release !== undefined, "the model was asked")
    const waiting = fetch(`${nodes[0]?.baseUrl}/api/runs/${run.id}`, {
      headers: { authorization: `Bearer ${credentials.token}`, prefer: "wait=60" }
    })
    const metrics = async () => (await fetch(`${nodes[0]?.baseUrl}/metrics`)).text()
    await until(async () => /^agentd_node_waiting_requests 1$/m.test(await metrics()), "it waits")
    release?.()
    const answer = await waiting
    assert.strictEqual(answer.headers.get("preference-applied"), "wait=60")
    const { data } = (await answer.json()) as { data: { status: string } }
    assert.include(["COMPLETED", "FAILED"], data.status)
    // It is the default of the workspace otherwise.
    await client(1).json("DELETE", `/api/provider-keys/${key.id}`)
  })

  it("answer 30 chats at once on each", async () => {
    const { workspaceId } = credentials
    const streams = await Promise.all(
      Array.from({ length: 60 }, (_, n) => client(n % 2).chat({ workspaceId, content: `chat ${n}` }))
    )
    for (const events of streams) assert.strictEqual(events.at(-1)?.event, "done")
  })

  it("stop on SIGTERM with exit code 0", async () => {
    const node = await startServer(env)
    assert.strictEqual(await node.stop("SIGTERM"), 0)
  })
})
