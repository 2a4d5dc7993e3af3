import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import {
  makeAccount,
  makeNodes,
  type Nodes,
  onDatabase,
  startModel,
  startTools,
  untilIdle
} from "../support/Durability.ts"
import { startPgBouncer } from "../support/PgBouncer.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { hasProgram } from "../support/PostgresServer.ts"
import { startServer } from "../support/Process.ts"
import { postUntilAnswered } from "../support/Repeating.ts"
import { until } from "../support/Until.ts"

const name = "two nodes behind PgBouncer in transaction mode"
const hasBoth = hasPostgres && hasProgram("pgbouncer")
/** Fewer than one node has connections: they take turns. */
const sessions = 4
const bounds =
  "set statement_timeout = 120000; set lock_timeout = 120000; set idle_in_transaction_session_timeout = 7500"
const notThere = hasPostgres ? `${name} (skipped: no pgbouncer on this machine)` : skipped(name)

describe.skipIf(!hasBoth)(hasBoth ? name : notThere, () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let bouncer: Awaited<ReturnType<typeof startPgBouncer>>
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>

  beforeAll(async () => {
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    bouncer = await startPgBouncer(url, { connectQuery: bounds, sessions })
    model = await startModel(200)
    tools = await startTools(100)
    nodes = makeNodes(bouncer.url, (node) => model.env(node), { DATABASE_DIRECT_URL: url })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes, tools.url)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    bouncer?.close()
    model?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const json = (node: number, method: string, path: string, body?: unknown) =>
    account.client(node).json(method, path, body)
  const run = async (node: number, id: string) => (await json(node, "GET", `/api/runs/${id}`)).data
  const becomes = (node: number, id: string, status: string) =>
    until(async () => (await run(node, id)).status === status, `${id} is ${status}`)

  it("do not start where nobody has said that it is one", async () => {
    const failure = await startServer({ DATABASE_URL: bouncer.url }).then(
      () => "started",
      (error: Error) => error.message
    )
    assert.include(failure, "DATABASE_URL leads to a pooler")
  })

  it("do not start where no session behind it is bounded", async () => {
    const unbounded = await startPgBouncer(url, { connectQuery: "select 1", sessions })
    const failure = await startServer({ DATABASE_URL: unbounded.url, DATABASE_DIRECT_URL: url }).then(
      () => "started",
      (error: Error) => error.message
    )
    unbounded.close()
    assert.include(failure, "no idle_in_transaction_session_timeout and no statement_timeout")
    assert.include(failure, `connect_query='${bounds}'`)
  })

  it("execute runs of tools, each reading what the other wrote", async () => {
    const given = await Promise.all(
      Array.from({ length: 20 }, (_, n) => account.submit(n % 2, `job ${n + 1}`))
    )
    await untilIdle(url)
    for (const [n, id] of given.entries()) {
      const { output, status } = await run((n + 1) % 2, id)
      assert.deepStrictEqual({ output, status }, { output: `done ${n + 1}`, status: "COMPLETED" })
    }
  })

  it("stream chats, many at once", async () => {
    const { workspaceId } = account
    const streams = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        account.client(n % 2).chat({ workspaceId, content: `job ${100 + n}` })
      )
    )
    for (const events of streams) assert.strictEqual(events.at(-1)?.event, "done")
  })

  it("do what is asked many times with one key once", async () => {
    const { token, workspaceId } = account
    const addresses = [0, 1].map((node) => () => nodes.server(node).baseUrl)
    const asked = { path: "/api/agents", token, key: "one", json: { workspaceId, name: "one of many" } }
    const answers = await Promise.all(Array.from({ length: 40 }, () => postUntilAnswered(addresses, asked)))
    for (const { status, text } of answers) {
      assert.deepStrictEqual({ status, text }, { status: 201, text: answers[0]?.text })
    }
    const { data } = await json(0, "GET", `/api/agents?workspaceId=${workspaceId}`)
    assert.lengthOf(
      data.filter(({ name }: { readonly name: string }) => name === "one of many"),
      1
    )
  })

  it("fire cron jobs", async () => {
    const { workspaceId } = account
    const job = { workspaceId, name: "J", schedule: "* * * * * *", timezone: "UTC", prompt: "job 200" }
    const made = await json(0, "POST", "/api/cron-jobs", job)
    const fires = `/api/cron-jobs/${made.data.id}/fires`
    await until(async () => (await json(1, "GET", fires)).data.length > 0, "it has fired")
    await json(1, "PATCH", `/api/cron-jobs/${made.data.id}`, { isActive: false })
    await untilIdle(url)
  })

  it("have somebody decide, on another node than the one that asks", async () => {
    const id = await account.submit(0, "job 300 write", "semi-autonomous")
    await becomes(1, id, "WAITING_APPROVAL")
    const waiting = await json(1, "GET", `/api/approvals?workspaceId=${account.workspaceId}`)
    await json(1, "POST", `/api/approvals/${waiting.data[0].id}`, { decision: "approve" })
    await becomes(0, id, "COMPLETED")
  })

  it("take up each other's runs after kill -9", async () => {
    model.hold((job) => job >= 400)
    const given = await Promise.all(Array.from({ length: 8 }, (_, n) => account.submit(0, `job ${400 + n}`)))
    await until(() => model.calls.filter(({ job }) => job >= 400).length >= 4, "they are at work")
    await nodes.kill(0)
    model.release()
    for (const id of given) await becomes(1, id, "COMPLETED")
    await nodes.start(0)
  })

  it("listen past it, and have no more sessions of the work than it gives", async () => {
    const rows = await onDatabase(
      url,
      (sql) => sql<{ name: string; count: number }>`
        select application_name as name, count(*)::int as count from pg_stat_activity
        where datname = current_database() group by 1`
    )
    const count = (...names: ReadonlyArray<string>) =>
      rows.filter((row) => names.includes(row.name)).reduce((sum, row) => sum + row.count, 0)
    assert.strictEqual(count("agentd listen"), 2)
    assert.isAtMost(count("agentd", "agentd lists"), sessions)
  })
})
