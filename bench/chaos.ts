/**
 * What is kept when everything fails: tasks, chat turns and approvals on two nodes, and an MCP server that counts
 * their side effects, while nodes are killed, frozen and told to stop, connections are cut, PostgreSQL is restarted
 * or read-only, and the tools are out of reach. Exit code 1 if anything is lost, stuck, done twice without a reason
 * or told wrongly; then it says what, with the history of the runs.
 *
 *   node bench/chaos.ts [--quick] [--seed N] [--seconds S] [--runs R] [--lease S] [--logs FOLDER] [phase …]
 *
 * Phases: sigterm kills freezes cuts readonly restarts outages tools mixed; each has two fresh nodes, a database of
 * its own, S seconds of faults (18) and its share of R tasks (360) and a third as many turns. It brings its own
 * PostgreSQL (`initdb` and `pg_ctl` in PATH), with fsync on; with DATABASE_URL=postgres://user@host:port it makes its
 * databases there, and leaves out the phases that stop the server. The seed decides about load and faults; what
 * meets what is a matter of time, and so two runs of it are alike and not the same. The nodes run as `npm start` does,
 * from the bundle of this checkout.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { parseArgs } from "node:util"
import { sleep } from "../test/support/Durability.ts"
import { describe } from "./support/About.ts"
import { type Cluster, makeCluster } from "./support/Cluster.ts"
import { startLoad } from "./support/Load.ts"
import { type Phase, phases } from "./support/Phases.ts"
import { seeded } from "./support/Seed.ts"
import { openServer } from "./support/Server.ts"
import { judge, runRows, type Verdict } from "./support/Verdict.ts"

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    seed: { type: "string" },
    seconds: { type: "string" },
    runs: { type: "string" },
    lease: { type: "string" },
    logs: { type: "string" }
  }
})
const seed = values.seed ?? String(Date.now() % 1_000_000)
const windowMillis = Number(values.seconds ?? (values.quick ? 5 : 18)) * 1000
const taskCount = Number(values.runs ?? (values.quick ? 120 : 360))
const leaseSeconds = Number(values.lease ?? 5)
/** Much longer than anything takes that goes on at all, also on a machine that does other things. */
const stuckMillis = 90_000
/** How long after the end of its run a stream may take to tell it. */
const endMillis = 30_000
/** Of each kind of complaint. */
const histories = 2

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const say = (text: string) => process.stdout.write(`${text}\n`)
const note = (text: string) => process.stderr.write(`${text}\n`)
const counted = (counts: Iterable<readonly [string, number]>) =>
  Array.from(counts, ([name, count]) => `${count} ${name}`).join(", ")

const tally = (names: ReadonlyArray<string>) => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counted(counts)
}

const isSettled = async (url: string) => (await runRows(url)).every(({ finishedAt }) => finishedAt !== null)

const within = async (millis: number, is: () => boolean | Promise<boolean>) => {
  const limit = Date.now() + millis
  while (!(await is()) && Date.now() < limit) await sleep(250)
}

const run = async (phase: Phase, server: Awaited<ReturnType<typeof openServer>>, tasks: number) => {
  const ownSeed = `${seed} ${phase.name}`
  const millis = windowMillis * phase.share
  const cluster = await makeCluster({
    ...server,
    name: phase.name,
    seed: ownSeed,
    leaseSeconds,
    logs: values.logs
  })
  try {
    const load = startLoad(cluster, {
      seed: ownSeed,
      tasks,
      turns: Math.ceil(tasks / 3),
      windowMillis: millis
    })
    const delay = monitorEventLoopDelay()
    delay.enable()
    const random = seeded(`${ownSeed} faults`)
    const faultsEnd = Date.now() + millis
    while (Date.now() < faultsEnd) await phase.fault(cluster, { random, leaseSeconds })
    const quietSince = Date.now()
    let isSubmitted = false
    void load.submitted.then(() => {
      isSubmitted = true
    })
    await within(stuckMillis, async () => isSubmitted && (await isSettled(cluster.direct)))
    const tookMillis = Date.now() - quietSince
    await within(endMillis, () => load.streams.every(({ state }) => state !== "open"))
    if (!isSubmitted) cluster.odd.push("what was posted has had no answer yet")
    await cluster.ready(20_000).catch(() => cluster.odd.push("a node is not ready"))
    const died = [0, 1].filter((node) => !isAlive(cluster.pidOf(node)))
    for (const node of died) cluster.odd.push(`node ${node} ended by itself`)
    await load.stop()
    const stillMillis = Math.round(delay.max / 1e6)
    delay.disable()
    return { cluster, load, stillMillis, tookMillis, verdict: await judge(cluster, load, leaseSeconds) }
  } finally {
    await cluster.close()
  }
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** How many of each kind, and how long they took. */
const faultsOf = ({ faults }: Cluster) =>
  Array.from(new Set(faults.map(({ kind }) => kind)), (kind) => {
    const took = faults.flatMap((fault) => (fault.kind === kind ? [(fault.to - fault.from) / 1000] : []))
    return `${took.length} ${kind} (${Math.min(...took).toFixed(1)}–${Math.max(...took).toFixed(1)} s)`
  }).join(", ")

const report = (
  phase: Phase,
  { cluster, load, stillMillis, tookMillis, verdict }: Awaited<ReturnType<typeof run>>
) => {
  const { counts } = verdict
  const { journaled, killed, lease, SIGTERM, unexcused } = counts.repeats
  print(
    phase.name,
    faultsOf(cluster),
    `${counts.promised} of ${counts.stored}`,
    counts.completed,
    counts.lost,
    counts.stuck,
    counts.failed,
    counts.toolless + (counts.told > 0 ? ` (${counts.told} turns told)` : ""),
    counts.calls,
    killed,
    lease,
    SIGTERM,
    unexcused,
    journaled,
    `${counts.streams} (${counts.connections})`,
    counts.endless,
    counts.wrongStreams,
    load.approved(),
    `${(tookMillis / 1000).toFixed(1)} s`
  )
  const inFlight = cluster.faults.reduce((sum, fault) => sum + (fault.inFlight ?? 0), 0)
  note(
    `${phase.name}: ${phase.about}. Posted: ${counted(load.answers)}; ${inFlight} calls of nodes in flight at ` +
      `faults; ${cluster.proxy.cuts()} connections cut; ${cluster.refusedStarts()} starts refused; ` +
      // Where this is a good part of the lease, nodes may have lost theirs for want of a processor.
      `this program stood still for ${stillMillis} ms at most`
  )
}

/** All complaints, the first of each kind with what is known of their runs. */
const explain = (phase: Phase, { complaints, history }: Verdict) => {
  const shown = new Map<string, number>()
  say(`\n${phase.name}: ${tally(complaints.map(({ kind }) => kind))}`)
  for (const { id, kind, text } of complaints) {
    say(`- ${kind}: ${id ?? ""} ${text}`.slice(0, 300))
    const before = shown.get(kind) ?? 0
    shown.set(kind, before + 1)
    if (id !== undefined && before < histories) for (const line of history(id)) say(`    ${line}`)
  }
}

const introduce = async (url: string) => {
  const { commit, durability, machine, versions } = await describe(url)
  const words = process.argv.slice(2)
  const command = ["node bench/chaos.ts", ...words, ...(values.seed === undefined ? ["--seed", seed] : [])]
  say(`${command.join(" ")}   # ${commit}, seed ${seed}`)
  say(`${versions}; ${durability}; ${machine}; lease ${leaseSeconds} s\n`)
}

const main = async () => {
  const { postgres, url } = await openServer()
  const all = phases(postgres !== undefined)
  const unknown = wanted.filter((name) => !all.some((phase) => phase.name === name))
  if (unknown.length > 0) throw new Error(`no such phase: ${unknown.join(", ")}`)
  const chosen = all.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  const possible = chosen.filter(({ stopsDatabase }) => postgres !== undefined || !stopsDatabase)
  for (const { name } of chosen) {
    if (!possible.some((phase) => phase.name === name)) note(`${name} is left out: the server is not ours`)
  }
  await introduce(url)
  const heads = [
    ...["phase", "faults", "promised of stored", "COMPLETED", "lost", "stuck", "FAILED", "without tools"],
    ...["calls", "repeated: killed", "lease lost", "SIGTERM", "unexcused", "journaled before"],
    ...["streams (connections)", "endless", "wrong", "approved", "whole after"]
  ]
  print(...heads)
  print(...heads.map(() => "---"))
  const verdicts: Array<{ readonly phase: Phase; readonly verdict: Verdict }> = []
  const shares = possible.reduce((sum, { share }) => sum + share, 0)
  for (const phase of possible) {
    const done = await run(phase, { url, postgres }, Math.ceil((taskCount * phase.share) / shares))
    report(phase, done)
    verdicts.push({ phase, verdict: done.verdict })
  }
  const wrong = verdicts.filter(({ verdict }) => verdict.complaints.length > 0)
  for (const { phase, verdict } of wrong) explain(phase, verdict)
  if (wrong.length === 0)
    say("\nnothing lost, stuck, without its tools, repeated without a reason or told wrongly")
  process.exit(wrong.length === 0 ? 0 : 1)
}

await main()
