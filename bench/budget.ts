/**
 * What a budget holds: runs of several steps on two nodes, at a model with a known price that notes what it is asked for.
 * Runs meet the limit in the middle, then it is raised, and all that failed are retried. Exit code 1 if the model was
 * asked for more than the limit and one call, if `GET /api/usage` is not what it answered to those who journaled it, to the
 * token, if an answer that was journaled is ever asked for again, or if a run is not completed in the end.
 *
 *   node bench/budget.ts [--quick] [--runs R] [--json FILE] [kills] [calm] [tokens] [run]
 *
 * `kills`: 1 US dollar a month, and one node after the other is killed (`kill -9`), also after the retry; `calm`: the same,
 * and nobody dies; `tokens`: tokens a month, with kills; `run`: US dollars a run, with kills. Each has a database and a
 * model of its own. It brings its own PostgreSQL as `bench/chaos.ts` does. A call that was under way on a node that was
 * killed cost something, and nobody journaled it: such calls are told from the others by what the model said, and count to
 * the budget as `lost`.
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
import { describe } from "./support/About.ts"
import { type Cost, compared, costOf, type Priced } from "./support/Asked.ts"
import { answersIn, startPricedModel } from "./support/PricedModel.ts"
import { openReport } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    runs: { type: "string" },
    json: { type: "string" }
  }
})
const runCount = Number(values.runs ?? (values.quick ? 40 : 100))
const killMillis = values.quick ? 1_000 : 1_500
const toolSteps = 4
const modelMillis = 500
const idleMillis = 240_000

type Limits = Readonly<Partial<Record<"monthlyUsd" | "monthlyTokens" | "runUsd", number>>>
/** All of a run are some 0.017 US dollars and 4,000 tokens. */
const variants: Readonly<Record<string, { readonly limits: Limits; readonly kills: boolean }>> = {
  kills: { limits: { monthlyUsd: runCount / 100 }, kills: true },
  calm: { limits: { monthlyUsd: runCount / 100 }, kills: false },
  tokens: { limits: { monthlyTokens: 2_000 * runCount }, kills: true },
  run: { limits: { runUsd: 0.008 }, kills: true }
}
const raised = { monthlyUsd: 1_000, monthlyTokens: null, runUsd: null }

const say = (text: string) => process.stdout.write(`${text}\n`)
const usd = (nanos: number) => (nanos / 1e9).toFixed(6)
const tokensOf = ({ inputTokens, outputTokens }: Cost) => inputTokens + outputTokens
const unknown = positionals.filter((name) => !(name in variants))
if (unknown.length > 0) {
  say(`no such variant: ${unknown.join(", ")}; there are ${Object.keys(variants).join(", ")}`)
  process.exit(1)
}

/** The most of a limit by which what was asked for goes over it, and by how much one call at most does. */
const overOf = (limits: Limits, asked: ReadonlyArray<Priced>) => {
  const most = (of: (cost: Cost) => number, all: ReadonlyArray<Priced>, limit: number) => ({
    sum: of(costOf(all)),
    limit,
    call: all.reduce((max, cost) => Math.max(max, of(cost)), 0)
  })
  const { monthlyTokens, monthlyUsd, runUsd } = limits
  if (monthlyUsd !== undefined) return [most(({ nanos }) => nanos, asked, monthlyUsd * 1e9)]
  if (monthlyTokens !== undefined) return [most(tokensOf, asked, monthlyTokens)]
  const jobs = Map.groupBy(asked, ({ job }) => job)
  return Array.from(jobs.values(), (all) => most(({ nanos }) => nanos, all, (runUsd ?? 0) * 1e9))
}

const server = await openServer()
const about = await describe(server.url)
say(`${about.commit}, ${about.machine}. ${about.versions}; ${about.durability}\n`)
const report = openReport("budget", values.json)
const problems: Array<string> = []

const tryOut = async (name: string, limits: Limits, kills: boolean) => {
  const expect = (isSo: boolean, what: string) => {
    say(`${isSo ? "  ok " : "  NOT"} ${what}`)
    if (!isSo) problems.push(`${name}: ${what}`)
  }
  const database = `budget_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server.url}/postgres`, (sql) => sql.unsafe(`create database ${database}`))
  const url = `${server.url}/${database}`
  const model = await startPricedModel(toolSteps, modelMillis)
  const nodes = makeNodes(url, () => ({}), {
    AGENTD_LEASE_SECONDS: "5",
    AGENTD_RUNS_PER_WORKSPACE: "100",
    AGENTD_RUNS_PER_OWNER: "100"
  })
  const forget = removedAtTheEnd(() => void nodes.stopAll())
  await Promise.all([nodes.start(0), nodes.start(1)])
  const { client, submit, workspaceId } = await makeAccount(url, nodes)
  const call = async (method: string, path: string, json?: object) => {
    const answer = await client(0).request(method, path, json)
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { data: never }).data
  }
  const put = (budget: object) => call("PUT", `/api/workspaces/${workspaceId}/budget`, budget)
  const standing = async () =>
    (
      (await call("GET", `/api/workspaces/${workspaceId}/usage`)) as {
        budget: Record<"monthlyUsd" | "monthlyTokens", { used: number; reserved: number; lost: number }>
      }
    ).budget
  const journaled = async () => {
    const rows = await onDatabase(
      url,
      (sql) => sql<{ step: string }>`select step::text from run_steps where step ->> 'type' = 'model'`
    )
    return answersIn(rows.map(({ step }) => step))
  }
  const untilOver = async () => {
    for (let node = 0; kills; node = 1 - node) {
      const { PENDING = 0, RUNNING = 0 } = await statusCounts(url)
      if (PENDING + RUNNING === 0) break
      await sleep(killMillis)
      await nodes.kill(node)
      await sleep(500)
      await nodes.start(node)
    }
    await untilIdle(url, idleMillis)
  }
  /** What is booked and told, beside what the model said to those who journaled it. */
  const settled = async () => {
    const steps = await journaled()
    const { again, invented, kept, lost, twice } = compared(model.asked, steps)
    const sum = costOf(kept)
    const stand = await standing()
    expect(
      invented.length === 0 && twice.length === 0,
      `each of ${steps.length} journaled answers is one of the model, and of a step of its own`
    )
    expect(again.length === 0, "no answer that was journaled was asked for again")
    expect(model.unlimited() === 0, "the model was told each time how long its answer may be")
    for (const groupBy of ["kind", "model", "day"]) {
      const rows: ReadonlyArray<Cost & { modelCalls: number; costUsd: number }> = await call(
        "GET",
        `/api/usage?workspaceId=${workspaceId}&groupBy=${groupBy}`
      )
      const said = costOf(rows.map((row) => ({ ...row, nanos: Math.round(row.costUsd * 1e9) })))
      const calls = rows.reduce((all, { modelCalls }) => all + modelCalls, 0)
      expect(
        calls === kept.length && JSON.stringify(said) === JSON.stringify(sum),
        `GET /api/usage by ${groupBy}: ${calls} calls, ${said.inputTokens} and ${said.outputTokens} tokens, ${usd(said.nanos)} USD, of ${kept.length}, ${sum.inputTokens} and ${sum.outputTokens}, ${usd(sum.nanos)}`
      )
    }
    const { monthlyTokens, monthlyUsd } = stand
    expect(
      monthlyTokens.used === tokensOf(sum) && Math.round(monthlyUsd.used * 1e9) === sum.nanos,
      `booked are ${monthlyTokens.used} tokens and ${monthlyUsd.used} USD`
    )
    const atMost = [Math.round(monthlyUsd.lost * 1e9), monthlyTokens.lost] as const
    const was = costOf(lost)
    expect(
      limits.monthlyUsd === undefined || atMost[0] >= was.nanos,
      `lost are ${lost.length} calls of ${usd(was.nanos)} USD and ${tokensOf(was)} tokens, counted as ${usd(atMost[0])} and ${atMost[1]} at most`
    )
    expect(kills || lost.length === 0, "nothing is lost where nobody is killed, and so usage is all of it")
    expect(monthlyUsd.reserved === 0 && monthlyTokens.reserved === 0, "nothing is held")
    return { kept, lost, stand }
  }

  say(
    `\n${name}: ${runCount} runs of ${toolSteps + 1} answers, ${JSON.stringify(limits)}, ${kills ? `a kill every ${killMillis / 1000} s` : "no kill"}`
  )
  const account = {
    workspaceId,
    name: "priced",
    provider: "openai-compatible",
    model: "priced",
    baseUrl: model.baseUrl,
    maxOutputTokens: 400,
    pricing: model.pricing
  }
  await call("POST", "/api/provider-keys", account)
  await put(limits)
  await Promise.all(Array.from({ length: runCount }, (_, n) => submit(n % 2, `job ${n}`)))
  await untilOver()

  const first = await settled()
  const killed = nodes.kills.length
  const asked = model.sum()
  const calls = model.asked.length
  const failed = await onDatabase(
    url,
    (sql) => sql<{ id: string; code: string; steps: number }>`
      select id, error_code as code, (select count(*)::int from run_steps s
        where s.run_id = r.id and s.step ->> 'type' = 'model') as steps
      from runs r where status <> 'COMPLETED'`
  )
  const overs = overOf(limits, model.asked)
  const worst = overs.reduce((max, { limit, sum }) => Math.max(max, sum - limit), Number.NEGATIVE_INFINITY)
  expect(
    overs.every(({ call, limit, sum }) => sum <= limit + call),
    `the model's sum is at most the limit and one call: ${overs.length === 1 ? `${overs[0]?.sum} of ${overs[0]?.limit} and ${overs[0]?.call}` : `over it by ${worst} at most, a call is up to ${Math.max(...overs.map((over) => over.call))}`}`
  )
  const inTheMiddle = failed.filter(({ steps }) => steps > 0)
  expect(
    inTheMiddle.length > 0 && failed.every(({ code }) => code === "budget_exceeded"),
    `${failed.length} runs met the limit, ${inTheMiddle.length} of them with steps that are kept`
  )
  if (limits.runUsd === undefined) {
    const refused = await client(1).request("POST", "/api/tasks", { workspaceId, prompt: "job 1" })
    expect(
      refused.status === 403 && refused.headers.get("x-error-code") === "budget_exceeded",
      `a new task is refused: ${await refused.text()}`
    )
    const retry = await client(1).request("POST", `/api/runs/${failed[0]?.id}/retry`)
    expect(retry.status === 403, `and so is a retry: ${retry.status}`)
  }

  await put(raised)
  const statuses = await Promise.all(
    failed.map(async ({ id }, n) => {
      const answer = await client(n % 2).request("POST", `/api/runs/${id}/retry`)
      await answer.text()
      return answer.status
    })
  )
  expect(
    statuses.every((status) => status === 200),
    `all of them are retried when it is raised: ${Array.from(new Set(statuses)).join(", ")}`
  )
  await untilOver()
  say("  after that:")
  const last = await settled()
  const had = new Set(first.kept.map(({ job, step }) => `${job} ${step}`))
  const repeated = model.asked.slice(calls).filter(({ job, step }) => had.has(`${job} ${step}`))
  expect(
    repeated.length === 0,
    `each went on behind its last step: of ${had.size} answers they had none is among ${model.asked.length - calls} that were asked for`
  )
  expect(
    last.kept.length === runCount * (toolSteps + 1),
    `${last.kept.length} answers are journaled: each step of each run once`
  )
  const after = await statusCounts(url)
  expect(after.COMPLETED === runCount, `all runs are completed: ${JSON.stringify(after)}`)

  const unit = limits.monthlyTokens === undefined ? "USD" : "tokens"
  const amount = (cost: Cost) => (unit === "USD" ? (cost.nanos / 1e9).toFixed(4) : tokensOf(cost))
  const limit = Object.values(limits)[0]
  report.row({ what: `${name}: the model was asked for, of ${limit} ${unit}`, agentd: amount(asked), unit })
  report.row({ what: `${name}: journaled, and in GET /api/usage`, agentd: amount(costOf(first.kept)), unit })
  report.row({ what: `${name}: answered to the dead`, agentd: amount(costOf(first.lost)), unit })
  report.row({
    what: `${name}: runs that met the limit, with steps`,
    agentd: `${failed.length}, ${inTheMiddle.length}`
  })
  report.row({
    what: `${name}: kills, and after the retry`,
    agentd: `${killed}, ${nodes.kills.length - killed}`
  })
  report.row({
    what: `${name}: calls in all, journaled`,
    agentd: `${model.asked.length}, ${last.kept.length}`
  })
  await nodes.stopAll()
  model.close()
  forget()
  await onDatabase(`${server.url}/postgres`, (sql) => sql.unsafe(`drop database ${database} with (force)`))
}

for (const name of positionals.length === 0 ? Object.keys(variants) : positionals) {
  const variant = variants[name]
  if (variant !== undefined) await tryOut(name, variant.limits, variant.kills)
}
report.save()
say(problems.length === 0 ? "\nall of it held" : `\ndid not hold: ${problems.join("; ")}`)
process.exit(problems.length === 0 ? 0 : 1)
