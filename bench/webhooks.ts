/**
 * Whether webhooks are told of all that happened and of nothing else, whoever dies meanwhile; that one receiver delays
 * no other; and what they cost runs. Exit code 1 where something did not hold.
 *
 *   node bench/webhooks.ts [--quick] [--seed N] [--json FILE] [down] [slow] [cost] [spread]
 *
 * `down`: a receiver that is not there for ten minutes (what webhooks wait for is moved in the database, as if they had
 * passed), while runs end, people decide, turns are answered, and one of two nodes after the other is killed (`kill -9`) at
 * random. Each event arrives there, with one id that another receiver has seen as well, and signed; what was told is
 * compared with what is stored. `slow`: 10,000 events for a receiver that takes 10 s for each; others of the same workspace
 * and of another one are told meanwhile. `cost`: runs a second on one node with a webhook that is told of each, beside
 * without one, in turns. `spread`: 50 webhooks of 5 workspaces, of which 40 refuse, fail, are slow, or never answer.
 *
 * It brings its own PostgreSQL (`initdb` and `pg_ctl` in PATH) with fsync on, or makes databases on that of
 * DATABASE_URL=postgres://user@host:port. Receivers, nodes, database and load share the machine.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { parseArgs } from "node:util"
import { onDatabase, sleep } from "../test/support/Durability.ts"
import { until } from "../test/support/Until.ts"
import { isSignedBy, type Received, startReceiver } from "../test/support/WebhookReceiver.ts"
import { describe } from "./support/About.ts"
import { median } from "./support/Laws.ts"
import { makePoster } from "./support/Poster.ts"
import { cpuMillisOf, cpuOfDatabase } from "./support/Processes.ts"
import { openReport, quantile } from "./support/Report.ts"
import { seeded } from "./support/Seed.ts"
import { openServer } from "./support/Server.ts"
import { difference, happened, openWebhookSite, type WebhookSite } from "./support/WebhookSite.ts"
import { startWork } from "./support/WebhookWork.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    seed: { type: "string" },
    json: { type: "string" }
  }
})
const { quick } = values
const seed = values.seed ?? String(Date.now() % 1_000_000)
const say = (text: string) => process.stdout.write(`${text}\n`)
const problems: Array<string> = []
const expect = (isSo: boolean, what: string) => {
  say(`${isSo ? "  ok " : "  NOT"} ${what}`)
  if (!isSo) problems.push(what)
}
const some = (lines: ReadonlyArray<string>) => (lines.length === 0 ? "" : `: ${lines.slice(0, 5).join(", ")}`)

const downMillis = 600_000
const mostLateMillis = 1_000
const mostCost = 0.15
const slowMillis = 10_000
const patienceMillis = 300_000
const mostAtOnce = 4

const server = await openServer()
const about = await describe(server.url)
say(`${about.commit}, ${about.machine}. ${about.versions}; ${about.durability}; seed ${seed}\n`)
const report = openReport("webhooks", values.json)

/** Each event once, and its lines as `happened` has them. */
const eventsOf = (received: ReadonlyArray<Received>) => {
  const events = new Map<string, Received>()
  for (const message of received) if (!events.has(message.id)) events.set(message.id, message)
  return { events, lines: Array.from(events.values(), ({ data, type }) => `${type} ${data.id}`) }
}

const down = async () => {
  const [count, kills, windowMillis] = quick ? [60, 8, 10_000] : [600, 30, 45_000]
  const site = await openWebhookSite(server.url, 2, { AGENTD_LEASE_SECONDS: "5" })
  const random = seeded(seed)
  // Some are killed between the message and its answer, or before they could write that it was taken.
  const takes = async () => {
    await sleep(random.between(0, 300))
    return 204
  }
  const away = await startReceiver(takes)
  const there = await startReceiver(takes)
  const { workspaceId } = site.account
  const hooks = {
    away: await site.hook(workspaceId, `${away.base}/away`),
    there: await site.hook(workspaceId, `${there.base}/there`)
  }
  say(`\ndown: ${count} pieces of work, ${kills} kills, nobody there for ${downMillis / 60_000} minutes`)
  away.refuse()
  const work = await startWork(site, random, count, windowMillis)
  const kill = async () => {
    const node = random.between(0, 1)
    await sleep(random.between(200, windowMillis / kills))
    await site.nodes.kill(node)
    await sleep(random.between(0, 500))
    await site.nodes.start(node)
  }
  for (let n = 0; n < kills; n++) {
    await kill()
    await site.passTime(downMillis / kills)
  }
  await work.over()
  expect(away.received.length === 0, "nothing arrives where nobody is")
  const { pending = 0 } = await site.deliveries(hooks.away.id)
  await away.accept()
  let waited = 0
  for (let step = 0; step < 60; step++) {
    const { pending: left = 0 } = await site.deliveries()
    if (left === 0) break
    if (step < 3) await kill()
    await sleep(2_000)
    await site.passTime(120_000)
    waited += 120_000
  }
  const stored = await happened(site)
  const statuses = await site.deliveries()
  expect(
    statuses.delivered === 2 * stored.length && Object.keys(statuses).length === 1,
    `each of ${stored.length} events is delivered to two: ${JSON.stringify(statuses)}`
  )
  const told = { away: eventsOf(away.received), there: eventsOf(there.received) }
  for (const name of ["away", "there"] as const) {
    const { events, lines } = told[name]
    const { missing, more } = difference(stored, lines)
    expect(missing.length === 0, `${name}: none is lost, ${missing.length} missing${some(missing)}`)
    expect(more.length === 0, `${name}: nothing is told that did not happen, ${more.length}${some(more)}`)
    const received = name === "away" ? away.received : there.received
    const unsigned = received.filter((message) => !isSignedBy(hooks[name].secret, message))
    expect(unsigned.length === 0, `${name}: all ${received.length} messages are signed`)
    const other = received.filter(({ body, id }) => events.get(id)?.body !== body)
    expect(other.length === 0, `${name}: a message that comes again has the same body`)
  }
  const { missing, more } = difference([...told.away.events.keys()], [...told.there.events.keys()])
  expect(missing.length + more.length === 0, "both were told with the same ids")
  const types = Object.entries(Object.groupBy(stored, (line) => line.split(" ")[0] ?? ""))
  say(`  ${types.map(([type, lines]) => `${lines?.length} ${type}`).join(", ")}`)
  report.row({ what: "down: events, each arrived at two receivers", agentd: told.away.events.size })
  report.row({ what: "down: waiting when the receiver was back", agentd: pending })
  report.row({
    what: "down: until the last was there, by the moved clock",
    agentd: waited / 60_000,
    unit: "min"
  })
  report.row({
    what: "down: messages that came again",
    agentd: away.received.length + there.received.length - 2 * stored.length
  })
  report.row({ what: "down: kills", agentd: site.nodes.kills.length })
  away.close()
  there.close()
  await site.close()
}

/** So many tasks a second in each workspace, for so long. */
const tasksAt = async (
  site: WebhookSite,
  workspaces: ReadonlyArray<string>,
  perSecond: number,
  seconds: number
) => {
  const posters = site.all.map((node) => makePoster(site.nodes.server(node).baseUrl, 8, site.account.token))
  const started = Date.now()
  const sent: Array<Promise<void>> = []
  for (let n = 0; n < perSecond * seconds; n++) {
    await sleep(started + (n * 1_000) / perSecond - Date.now())
    for (const [k, workspaceId] of workspaces.entries()) {
      const post = posters[(n + k) % posters.length]?.post
      const task = { workspaceId, prompt: `${n}`, autonomyLevel: "autonomous", selectedProvider: "offline" }
      if (post !== undefined) sent.push(post("/api/tasks", task))
    }
  }
  await Promise.all(sent)
  for (const { close } of posters) close()
}

/** From the end of a run, as it is stored, until somebody was told. */
const delaysOf = (received: ReadonlyArray<Received>) =>
  received.map(({ at, data }) => at - Date.parse(data.finishedAt))

const rowsOf = (what: string, delays: ReadonlyArray<number>, beside: ReadonlyArray<number> | undefined) => {
  for (const [name, share] of [
    ["p50", 0.5],
    ["p99", 0.99],
    ["most", 1]
  ] as const) {
    report.row({
      what,
      agentd: quantile(delays, share),
      beside: beside && quantile(beside, share),
      unit: `ms ${name}`,
      ...(name === "p99" && { goal: "< 1 s" })
    })
  }
}

const slow = async () => {
  const [events, perSecond, seconds] = quick ? [1_000, 10, 10] : [10_000, 20, 30]
  const site = await openWebhookSite(server.url, 2)
  let atOnce = 0
  let mostSeen = 0
  const receiver = await startReceiver(async ({ path }) => {
    if (path !== "/slow") return 204
    mostSeen = Math.max(mostSeen, ++atOnce)
    await sleep(slowMillis)
    atOnce--
    return 204
  })
  const one = site.account.workspaceId
  const two = await site.workspace("another")
  say(
    `\nslow: ${events} events for a receiver that takes 10 s; others at ${perSecond} a second and workspace`
  )
  await site.hook(one, `${receiver.base}/same`)
  await site.hook(two, `${receiver.base}/other`)
  const paths = ["/same", "/other"] as const
  const since = (from: number, path: string) =>
    receiver.received.slice(from).filter((message) => message.path === path)
  const round = async () => {
    const from = receiver.received.length
    await tasksAt(site, [one, two], perSecond, seconds)
    for (const path of paths) {
      await until(
        () => since(from, path).length >= perSecond * seconds,
        `all is told at ${path}`,
        patienceMillis
      )
    }
    return paths.map((path) => delaysOf(since(from, path)))
  }
  await round()
  const calm = await round()
  const hook = await site.hook(one, `${receiver.base}/slow`)
  const from = receiver.received.length
  const poster = makePoster(site.nodes.server(0).baseUrl, 32, site.account.token)
  let sent = 0
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (sent++ < events) {
        await poster.post("/api/tasks", { workspaceId: one, prompt: "fill", selectedProvider: "offline" })
      }
    })
  )
  await until(() => since(from, "/same").length >= events, "all is told to the quick one", patienceMillis)
  poster.close()
  const filled = delaysOf(since(from, "/same"))
  const { delivered = 0, pending = 0 } = await site.deliveries(hook.id)
  say(`  ${pending} wait for the slow one, ${delivered} are there`)
  const beside = await round()
  expect(
    mostSeen <= mostAtOnce,
    `the slow one is asked ${mostSeen} at a time by two nodes, ${mostAtOnce} at most`
  )
  for (const [n, path] of paths.entries()) {
    const where = path === "/same" ? "another webhook of its workspace" : "one of another workspace"
    const p99 = quantile(beside[n] ?? [], 0.99)
    expect(p99 < mostLateMillis, `${where} is told after ${p99} ms (p99)`)
    rowsOf(`slow: ${where}, beside without the slow one`, beside[n] ?? [], calm[n])
  }
  rowsOf("slow: the same webhook while the events are made, as fast as can be", filled, undefined)
  receiver.close()
  await site.close()
}

const cost = async () => {
  const [runs, rounds, clients] = quick ? [300, 2, 32] : [2_000, 6, 64]
  const site = await openWebhookSite(server.url, 1, {
    AGENTD_RUN_CONCURRENCY: String(clients),
    AGENTD_RUNS_PER_WORKSPACE: String(clients)
  })
  let told = 0
  const sink = createServer((request, response) => {
    request.resume().once("end", () => {
      told++
      response.writeHead(204).end()
    })
  })
  sink.keepAliveTimeout = 60_000
  await new Promise<void>((done) => sink.listen(0, "127.0.0.1", done))
  const { workspaceId } = site.account
  const { id } = await site.hook(workspaceId, `http://127.0.0.1:${(sink.address() as AddressInfo).port}/sink`)
  const poster = makePoster(site.nodes.server(0).baseUrl, clients, site.account.token)
  const { pid } = site.nodes.server(0)
  const over = async () => {
    const [row] = await onDatabase(
      site.url,
      (sql) => sql<{ over: number }>`select count(*)::int as over from runs where status = 'COMPLETED'`
    )
    return row?.over ?? 0
  }
  const round = async (isTold: boolean) => {
    await site.call("PATCH", `/api/webhooks/${id}`, { isActive: isTold })
    await sleep(1_000)
    const [before, heard] = [await over(), told]
    const [cpu, busy] = [cpuMillisOf(pid), await cpuOfDatabase(site.url)]
    const started = performance.now()
    let sent = 0
    await Promise.all(
      Array.from({ length: clients }, async () => {
        while (sent++ < runs) {
          await poster.post("/api/tasks", {
            workspaceId,
            prompt: "call current_time {}",
            autonomyLevel: "autonomous",
            selectedProvider: "offline"
          })
        }
      })
    )
    while ((await over()) < before + runs) await sleep(20)
    const took = performance.now() - started
    const meanwhile = told - heard
    if (isTold) await until(() => told >= heard + runs, "all is told", patienceMillis)
    const all = performance.now() - started
    return {
      perSecond: (runs / took) * 1_000,
      untilTold: (runs / all) * 1_000,
      meanwhile: (meanwhile / runs) * 100,
      cpu: (cpuMillisOf(pid) - cpu) / runs,
      database: ((await cpuOfDatabase(site.url)) - busy) / runs
    }
  }
  say(`\ncost: ${runs} runs a round, ${rounds} times with a webhook and without, ${clients} clients`)
  await round(true)
  await round(false)
  const found: Record<"without" | "told", Array<Awaited<ReturnType<typeof round>>>> = {
    without: [],
    told: []
  }
  for (let n = 0; n < rounds; n++) {
    for (const name of n % 2 === 0 ? (["without", "told"] as const) : (["told", "without"] as const)) {
      found[name].push(await round(name === "told"))
    }
  }
  const of = (name: "without" | "told", key: "perSecond" | "untilTold" | "cpu" | "database") =>
    median(found[name].map((each) => each[key]))
  for (const [what, key, unit, goal] of [
    ["runs, beside without a webhook", "perSecond", "runs/s", `≥ ${1 - mostCost}×`],
    ["the same, until all are told", "untilTold", "runs/s", undefined],
    ["CPU of the node per run, beside without", "cpu", "ms", undefined],
    ["CPU of the database per run, beside without", "database", "ms", undefined]
  ] as const) {
    report.row({ what: `cost: ${what}`, agentd: of("told", key), beside: of("without", key), unit, goal })
  }
  const pairs = found.told.map(({ perSecond }, n) => perSecond / (found.without[n]?.perSecond ?? Number.NaN))
  const lost = 1 - median(pairs)
  report.row({
    what: "cost: of the messages, told before the last run was over",
    agentd: median(found.told.map(({ meanwhile }) => meanwhile)),
    unit: "%"
  })
  say(`  by pair: ${pairs.map((pair) => pair.toFixed(3)).join(", ")}`)
  expect(lost < mostCost, `a webhook costs ${(lost * 100).toFixed(1)} % of runs/s (median of pairs)`)
  poster.close()
  sink.closeAllConnections()
  sink.close()
  await site.close()
}

const spread = async () => {
  const [perSecond, seconds] = quick ? [4, 15] : [8, 60]
  const site = await openWebhookSite(server.url, 2)
  const never = new Promise<number>(() => {})
  const receiver = await startReceiver(async ({ path }) => {
    if (path.startsWith("/hangs")) return never
    if (path.startsWith("/slow")) await sleep(slowMillis)
    return path.startsWith("/fails") ? 500 : 204
  })
  const closed = await startReceiver()
  closed.close()
  const workspaces = [site.account.workspaceId]
  while (workspaces.length < 5) workspaces.push(await site.workspace(`W${workspaces.length}`))
  for (const [n, workspaceId] of workspaces.entries()) {
    for (const kind of ["slow", "hangs", "fails"]) {
      for (const k of [0, 1]) await site.hook(workspaceId, `${receiver.base}/${kind}/${n}/${k}`)
    }
    for (const k of [0, 1]) {
      await site.hook(workspaceId, `${closed.base}/closed/${n}/${k}`)
      await site.hook(workspaceId, `${receiver.base}/good/${n}/${k}`)
    }
  }
  say(
    `\nspread: 10 webhooks in each of 5 workspaces, 2 of them well; ${perSecond} runs a second and workspace`
  )
  await tasksAt(site, workspaces, perSecond, seconds)
  const wanted = perSecond * seconds * workspaces.length * 2
  const good = () => receiver.received.filter(({ path }) => path.startsWith("/good"))
  await until(() => good().length >= wanted, "all is told to those who are well", patienceMillis)
  const delays = delaysOf(good())
  const late = (from: number, to: number) =>
    quantile(delays.slice(Math.floor(delays.length * from), Math.floor(delays.length * to)), 0.99)
  say(
    `  p99 of the first, second and last third: ${[0, 1, 2].map((n) => late(n / 3, (n + 1) / 3)).join(", ")} ms`
  )
  expect(
    quantile(delays, 0.99) < mostLateMillis,
    `10 webhooks are told of ${delays.length} events after ${quantile(delays, 0.99)} ms (p99), beside 40 that are not well`
  )
  rowsOf("spread: 10 webhooks beside 40 that are slow or dead", delays, undefined)
  receiver.close()
  await site.close()
}

const phases: Readonly<Record<string, () => Promise<void>>> = { down, slow, cost, spread }
const unknown = positionals.filter((name) => !(name in phases))
if (unknown.length > 0) {
  say(`no such phase: ${unknown.join(", ")}; there are ${Object.keys(phases).join(", ")}`)
  process.exit(1)
}
for (const name of positionals.length === 0 ? Object.keys(phases) : positionals) await phases[name]?.()
report.save()
say(problems.length === 0 ? "\nall of it held" : `\ndid not hold: ${problems.join("; ")}`)
process.exit(problems.length === 0 ? 0 : 1)
