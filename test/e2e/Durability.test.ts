import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import {
  makeAccount,
  makeNodes,
  type Nodes,
  sleep,
  startModel,
  startTools,
  untilIdle
} from "../support/Durability.ts"
import { startHoldingProxy } from "../support/HoldingProxy.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { examine, journaled } from "../support/Repeats.ts"
import { until } from "../support/Until.ts"

const name = "runs outlive their nodes"
/** Long enough for a node that lives to renew it, however busy the machine is. */
const leaseMillis = 10_000
const drainMillis = 5_000
const concurrency = 16
const report = (line: string) => process.stdout.write(`durability: ${line}\n`)

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  let proxy: Awaited<ReturnType<typeof startHoldingProxy>>
  let jobs = 0

  beforeAll(async () => {
    model = await startModel(500)
    tools = await startTools(200)
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    const proxied = new URL(url)
    proxy = await startHoldingProxy(Number(proxied.port))
    proxied.port = String(proxy.port)
    const late = { DATABASE_URL: proxied.href }
    nodes = makeNodes(url, (node) => ({ ...model.env(node), ...(node === 2 && late) }), {
      AGENTD_LEASE_SECONDS: String(leaseMillis / 1000),
      AGENTD_DRAIN_SECONDS: String(drainMillis / 1000),
      AGENTD_RUN_CONCURRENCY: String(concurrency),
      AGENTD_RUNS_PER_WORKSPACE: String(2 * concurrency)
    })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes, tools.url)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    proxy?.close()
    model?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const run = async (node: number, id: string) =>
    (await account.client(node).json("GET", `/api/runs/${id}`)).data
  const becomes = (node: number, id: string, status: string) =>
    until(async () => (await run(node, id)).status === status, `${id} is ${status}`)
  const asked = (job: number) => model.calls.filter((call) => call.job === job)
  /** Questions of these nodes for the last answer that are under way. */
  const lastAsked = (...of: ReadonlyArray<number>) =>
    model.calls.filter(
      ({ answeredAt, brokenAt, node, step }) =>
        of.includes(node) && step === 2 && answeredAt === null && brokenAt === null
    ).length
  const submitAll = (count: number, to: (n: number) => number) =>
    Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const job = ++jobs
        return { job, id: await account.submit(to(n), `job ${job}`) }
      })
    )

  it("kill -9 of each node loses no run and repeats no finished step", async () => {
    // Half of them are sure to be found in their last answer, the others wherever they are.
    model.hold((job) => job % 4 < 2)
    const given = await submitAll(60, (n) => n % 2)
    await until(() => lastAsked(0) >= 4, "node 0 is at work")
    await nodes.kill(0)
    await nodes.start(0)
    await until(() => lastAsked(1) >= 4, "node 1 is at work")
    await nodes.kill(1)
    model.release()
    const lastKill = performance.now()
    await Promise.all([nodes.start(1), untilIdle(url)])
    const recovered = performance.now() - lastKill

    for (const { id, job } of given) {
      const { error, output, status, steps } = await run(job % 2, id)
      assert.deepStrictEqual(
        { error, output, status },
        { error: null, output: `done ${job}`, status: "COMPLETED" }
      )
      assert.deepStrictEqual(
        steps.map(({ index, type }: { index: number; type: string }) => `${index} ${type}`),
        ["0 model", "1 tool", "2 model", "3 tool", "4 model"]
      )
    }
    const examined = examine(await journaled(url), { model: model.calls, tools: tools.uses }, nodes.kills)
    report(
      `60 runs, ${nodes.kills.length} kills: over ${recovered.toFixed(0)} ms after the last kill, ` +
        `${examined.steps} steps, ${examined.repeats} repeated`
    )
    assert.deepStrictEqual(examined.faults, [])
    assert.strictEqual(examined.steps, 300)
    assert.isAtLeast(examined.repeats, 8, "the kills found nothing in flight")
    assert.isAtMost(examined.repeats, nodes.kills.length * concurrency)
  })

  it("a node that was frozen writes nothing over its successor", async () => {
    model.hold()
    const given = await submitAll(12, () => 0)
    const mine = new Set(given.map(({ id }) => id))
    const rows = async () => (await journaled(url)).filter(({ runId }) => mine.has(runId))
    await until(() => lastAsked(0, 1) === 12, "all wait for their last answer")
    assert.isAbove(lastAsked(0), 0)
    const stoppedAt = Date.now()
    void nodes.server(0).stop("SIGSTOP")
    model.release()
    const took = await until(
      async () =>
        (await Promise.all(given.map(({ id }) => run(1, id)))).every((r) => r.status === "COMPLETED"),
      "the other node has completed them"
    )
    const before = await rows()
    const calls = model.calls.length
    void nodes.server(0).stop("SIGCONT")
    // It answers again, and has the last answers of the model as well.
    await run(0, given[0]?.id ?? "")
    await sleep(1_500)

    const after = await rows()
    assert.deepStrictEqual(after, before)
    assert.strictEqual(after.length, 60)
    for (const row of after) {
      if (row.at < stoppedAt) assert.strictEqual(row.epoch, 1)
      else assert.strictEqual(row.epoch, row.runEpoch)
    }
    assert.isTrue(after.some((row) => row.runEpoch === 2))
    assert.strictEqual(model.calls.length, calls, "the zombie asked the model again")
    for (const { id, job } of given) {
      assert.deepInclude(await run(0, id), { status: "COMPLETED", output: `done ${job}` })
    }
    const [next] = await submitAll(1, () => 0)
    await becomes(0, next?.id ?? "", "COMPLETED")
    assert.strictEqual(asked(next?.job ?? 0)[0]?.node, 0, "the node that came back works again")
    report(`frozen node: its 12 runs were over ${took.toFixed(0)} ms after SIGSTOP`)
  })

  it("what a node sent to the database arrives too late", async () => {
    await nodes.start(2)
    model.hold()
    const given = await submitAll(8, () => 2)
    const mine = new Set(given.map(({ id }) => id))
    const rows = async () => (await journaled(url)).filter(({ runId }) => mine.has(runId))
    await until(() => lastAsked(0, 1, 2) === 8, "all wait for their last answer")
    assert.isAbove(lastAsked(2), 0)
    proxy.hold()
    model.release()
    const others = async () => Promise.all(given.map(({ id }) => run(1, id)))
    await until(
      async () => (await others()).every(({ status }) => status === "COMPLETED"),
      "the other nodes have completed them"
    )
    const before = await rows()
    const late = proxy.release(given.map(({ id }) => id))
    assert.isAtLeast(late.length, 1, "nothing was on its way")
    await sleep(1_000)
    assert.deepStrictEqual(await rows(), before)
    for (const { output, status } of await others()) {
      assert.strictEqual(status, "COMPLETED")
      assert.match(output, /^done \d+$/)
    }
    report(`cut off node: statements about ${late.length} of 8 runs arrived late and changed nothing`)
    await nodes.server(2).stop("SIGKILL")
  })

  it("runs are cancelled on another node than their own", async () => {
    const answered: Array<number> = []
    const letGo: Array<number> = []
    for (let n = 0; n < 5; n++) {
      const job = ++jobs
      const id = await account.submit(0, `job ${job} hang`)
      await until(() => asked(job).length === 1, "the model was asked")
      assert.strictEqual(asked(job)[0]?.node, 0)
      const at = Date.now()
      const { data } = await account.client(1).json("POST", `/api/runs/${id}/cancel`)
      answered.push(Date.now() - at)
      assert.strictEqual(data.status, "CANCELLED")
      await until(() => asked(job)[0]?.brokenAt != null, "the provider was let go")
      letGo.push((asked(job)[0]?.brokenAt ?? 0) - at)
      assert.strictEqual((await run(0, id)).status, "CANCELLED")
    }
    report(`cancelled after ${answered.join(", ")} ms, the provider let go after ${letGo.join(", ")} ms`)
  })

  it("what waits for approval outlives all nodes", async () => {
    const job = ++jobs
    const id = await account.submit(0, `job ${job} write`, "semi-autonomous")
    await becomes(0, id, "WAITING_APPROVAL")
    await Promise.all([nodes.kill(0), nodes.kill(1)])
    await Promise.all([nodes.start(0), nodes.start(1)])
    const path = `/api/approvals?workspaceId=${account.workspaceId}`
    const { data: waiting } = await account.client(1).json("GET", path)
    assert.strictEqual(waiting.length, 1)
    assert.deepInclude(waiting[0], { runId: id, arguments: { job, step: 0 } })
    assert.strictEqual(tools.uses.filter((use) => use.job === job).length, 0)
    const decided = await account
      .client(1)
      .request("POST", `/api/approvals/${waiting[0].id}`, { decision: "approve" })
    assert.strictEqual(decided.status, 200)
    const took = await becomes(0, id, "COMPLETED")
    report(`approved after kill -9 of both nodes: COMPLETED after ${took.toFixed(0)} ms`)
    assert.strictEqual((await run(1, id)).output, `done ${job}`)
    assert.deepStrictEqual(
      asked(job).map(({ step }) => step),
      [0, 1, 2]
    )
    assert.deepStrictEqual(
      tools.uses.filter((use) => use.job === job).map(({ tool }) => tool),
      ["write", "count"]
    )
  })

  it("SIGTERM makes no call again that is under way, and hands over what takes longer than the drain", async () => {
    const job = ++jobs
    const id = await account.submit(0, `job ${job} hang`)
    await until(() => asked(job).length === 1, "the model was asked")
    assert.strictEqual(asked(job)[0]?.node, 0)
    const calling = await submitAll(8, () => 0)
    await until(() => tools.uses.some((use) => use.job === calling[0]?.job), "a tool was called")
    const at = Date.now()
    let exited = 0
    const ended = nodes
      .server(0)
      .stop("SIGTERM")
      .finally(() => {
        exited = Date.now() - at
      })
    await until(() => asked(job).length === 2, "the other node has taken it up")
    const took = (asked(job)[1]?.at ?? 0) - at
    assert.strictEqual(asked(job)[1]?.node, 1)
    assert.strictEqual(await ended, 0)
    assert.isAtLeast(took, drainMillis - 500, "it was not waited for")
    report(`SIGTERM: taken up after ${took} ms, exit after ${exited} ms`)
    for (const given of calling) {
      await becomes(1, given.id, "COMPLETED")
      const steps = tools.uses.filter((use) => use.job === given.job).map(({ step }) => step)
      assert.deepStrictEqual(steps, [0, 1], `job ${given.job}`)
    }
    await becomes(1, id, "COMPLETED")
    assert.strictEqual((await run(1, id)).output, `done ${job}`)
  })
})
