/**
 * What a budget holds when nodes are killed: runs of several steps on two nodes, at a model with a known price, in a
 * workspace that may spend 1 US dollar in a month, while the nodes are killed (`kill -9`) one after the other. Exit code 1
 * if the model was asked for more than the limit and one call, if what is booked is not what it reported for the steps
 * that were journaled, to the token, or if a step that a run had is asked for again when the limit is raised and the
 * runs are retried.
 *
 *   node bench/budget.ts [--quick] [--runs R] [--limit USD]
 *
 * It brings its own PostgreSQL as `bench/chaos.ts` does. What is asked for again is counted apart: a call that was under way
 * on a node that was killed cost something, and nobody journaled it; it counts to the budget as `lost`.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import {
  makeAccount,
  makeNodes,
  onDatabase,
  sleep,
  statusCounts,
  untilIdle
} from "../test/support/Durability.ts"
import { removedAtTheEnd } from "../test/support/PostgresServer.ts"
import { startPricedModel, usageOf } from "./support/PricedModel.ts"
import { openServer } from "./support/Server.ts"

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    runs: { type: "string" },
    limit: { type: "string" }
  }
})
const runCount = Number(values.runs ?? (values.quick ? 40 : 100))
const limit = Number(values.limit ?? (values.quick ? 0.3 : 1))
const killMillis = values.quick ? 1_000 : 1_500
const toolSteps = 4
const modelMillis = 500
const idleMillis = 240_000

const say = (text: string) => process.stdout.write(`${text}\n`)
const usd = (nanos: number) => (nanos / 1e9).toFixed(6)
const problems: Array<string> = []
const expect = (isSo: boolean, what: string) => {
  say(`${isSo ? "  ok " : "  NOT"} ${what}`)
  if (!isSo) problems.push(what)
}

const server = await openServer()
const database = `budget_${randomBytes(6).toString("hex")}`
await onDatabase(`${server.url}/postgres`, (sql) => sql.unsafe(`create database ${database}`))
const url = `${server.url}/${database}`
const model = await startPricedModel(toolSteps, modelMillis)
const nodes = makeNodes(url, () => ({}), {
  AGENTD_LEASE_SECONDS: "5",
  AGENTD_RUNS_PER_WORKSPACE: "100",
  AGENTD_RUNS_PER_OWNER: "100"
})
removedAtTheEnd(() => void nodes.stopAll())
await Promise.all([nodes.start(0), nodes.start(1)])
const { client, submit, workspaceId } = await makeAccount(url, nodes)
const call = async (method: string, path: string, json?: object) => {
  const answer = await client(0).request(method, path, json)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { data: never }).data
}
const put = (monthlyUsd: number) => call("PUT", `/api/workspaces/${workspaceId}/budget`, { monthlyUsd })
const standing = async () =>
  (
    (await call("GET", `/api/workspaces/${workspaceId}/usage`)) as {
      budget: Record<"monthlyUsd" | "monthlyTokens", { used: number; reserved: number; lost: number }>
    }
  ).budget

/** What is journaled, of which job and step, and what that cost by the model. */
const journaled = async () => {
  const rows = await onDatabase(
    url,
    (sql) => sql<{ job: string; step: number; code: string | null }>`
      select substring(r.prompt from 'job ([0-9]+)') as job, r.error_code as code,
        (row_number() over (partition by r.id order by s.index) - 1)::int as step
      from run_steps s join runs r on r.id = s.run_id where s.step ->> 'type' = 'model'`
  )
  const tokens = rows.reduce((sum, { job, step }) => {
    const { completion_tokens, prompt_tokens } = usageOf(Number(job), step)
    return sum + completion_tokens + prompt_tokens
  }, 0)
  return { steps: new Set(rows.map(({ job, step }) => `${job} ${step}`)), count: rows.length, tokens }
}

const storm = async (isOver: () => Promise<boolean>) => {
  for (let node = 0; !(await isOver()); node = 1 - node) {
    await sleep(killMillis)
    await nodes.kill(node)
    await sleep(500)
    await nodes.start(node)
  }
}
const isIdle = async () => {
  const { PENDING = 0, RUNNING = 0 } = await statusCounts(url)
  return PENDING + RUNNING === 0
}

await call("POST", "/api/provider-keys", {
  workspaceId,
  name: "priced",
  provider: "openai-compatible",
  model: "priced",
  baseUrl: model.baseUrl,
  maxOutputTokens: 400,
  pricing: model.pricing
})
await put(limit)
say(
  `${runCount} runs of ${toolSteps + 1} answers, a limit of ${limit} USD, a kill every ${killMillis / 1000} s`
)
await Promise.all(Array.from({ length: runCount }, (_, n) => submit(n % 2, `job ${n}`)))
await storm(isIdle)
await untilIdle(url, idleMillis)

const before = await journaled()
const sum = model.sum()
const stand = await standing()
const counts = await statusCounts(url)
const again = sum.calls - before.count
say(
  `the model was asked ${sum.calls} times for ${usd(sum.nanos)} USD, ${sum.tokens} tokens; ${before.count} answers are journaled, ${again} calls were lost with ${nodes.kills.length} kills`
)
say(
  `booked ${stand.monthlyUsd.used} USD, lost at most ${stand.monthlyUsd.lost} USD; runs: ${JSON.stringify(counts)}`
)
expect(
  sum.nanos <= limit * 1e9 + sum.most,
  `the model's sum is at most the limit and one call (${usd(sum.most)} USD)`
)
expect(sum.unlimited === 0, "the model was told each time how long its answer may be")
expect(
  stand.monthlyTokens.used === before.tokens,
  `booked are the ${before.tokens} tokens of what is journaled`
)
expect(
  Math.round((stand.monthlyUsd.used + stand.monthlyUsd.lost) * 1e9) >= sum.nanos,
  "what is booked and lost is no less than what the model was asked for"
)
expect(stand.monthlyUsd.reserved === 0, "nothing is held when no call is under way")
expect((counts.FAILED ?? 0) > 0, "runs met the limit")
const refused = await client(1).request("POST", "/api/tasks", { workspaceId, prompt: "job 1" })
expect(
  refused.status === 403 && refused.headers.get("x-error-code") === "budget_exceeded",
  `a new task is refused: ${await refused.text()}`
)
const report = await client(0).request("GET", `/api/usage?workspaceId=${workspaceId}&groupBy=kind`)
if (report.ok) {
  const { data } = (await report.json()) as {
    data: ReadonlyArray<{ inputTokens: number; outputTokens: number }>
  }
  const reported = data.reduce((all, row) => all + row.inputTokens + row.outputTokens, 0)
  expect(reported === before.tokens, `GET /api/usage says the same ${reported} tokens`)
} else say(`  (GET /api/usage is not there: ${report.status})`)

await put(1_000)
const failed = await onDatabase(
  url,
  (sql) => sql<{ id: string }>`select id from runs where status = 'FAILED'`
)
const asked = new Map(model.asked)
const retried = await Promise.all(
  failed.map(({ id }) =>
    client(0)
      .request("POST", `/api/runs/${id}/retry`)
      .then(({ status }) => status)
  )
)
if (retried.every((status) => status === 200)) {
  await untilIdle(url, idleMillis)
  const repeated = Array.from(before.steps).filter((step) => model.asked.get(step) !== asked.get(step))
  expect(repeated.length === 0, `of ${before.steps.size} journaled answers none is asked for again`)
  const after = await statusCounts(url)
  expect(after.COMPLETED === runCount, `all runs are completed: ${JSON.stringify(after)}`)
  const { monthlyTokens } = await standing()
  expect(
    monthlyTokens.used === (await journaled()).tokens,
    `booked are ${monthlyTokens.used} tokens, as journaled`
  )
} else say(`  (POST /api/runs/{id}/retry is not there: ${retried[0]})`)

await nodes.stopAll()
model.close()
say(problems.length === 0 ? "all of it held" : `did not hold: ${problems.join("; ")}`)
process.exit(problems.length === 0 ? 0 : 1)
