/**
 * What a tenant can do to another: two nodes on a PostgreSQL of their own, a victim that sends tasks and messages one
 * after the other, alone and then while five accounts of the free plan, with ten workspaces each, do all that they may:
 * tasks and chats that hold a model for a minute, chats hung up on, large bodies, lists.
 *
 *   node bench/tenants.ts [--quick] [--seconds S] [--seed N] [--accounts N] [--pause MS]
 *
 * S seconds of attack (600; 60 with --quick), and a fifth of that alone before it, at least 15 s; PostgreSQL is its own
 * (`initdb` and `pg_ctl` in PATH), or the scratch server of DATABASE_URL. Exit code 1 unless the victim's p99 stays
 * under three times that of alone and `/health/live` under 100 ms (p99). Nodes, database, model and this program share
 * the machine: MS is the pause of each of the six loops of an account, so that what is measured is not who has the
 * processor.
 */
import { randomBytes } from "node:crypto"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import { makeAccount, makeNodes, onDatabase, sleep } from "../test/support/Durability.ts"
import { makeClient, runCommand } from "../test/support/Process.ts"
import { type Account, attackAll } from "./support/Attack.ts"
import { startHeldModel } from "./support/HeldModel.ts"
import { usage } from "./support/Processes.ts"
import { seeded } from "./support/Seed.ts"
import { openServer } from "./support/Server.ts"

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    seconds: { type: "string" },
    seed: { type: "string" },
    accounts: { type: "string" },
    pause: { type: "string" }
  }
})
const seed = values.seed ?? String(Date.now() % 1_000_000)
const attackMillis = Number(values.seconds ?? (values.quick ? 60 : 600)) * 1000
const aloneMillis = Math.max(15_000, attackMillis / 5)
const accountCount = Number(values.accounts ?? 5)
const pauseMillis = Number(values.pause ?? 500)
const workspacesEach = 10
/** What is not over by then counts as long as it was waited for. */
const patienceMillis = 120_000

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const say = (text: string) => process.stdout.write(`${text}\n`)
const percentile = (all: ReadonlyArray<number>, share: number) =>
  [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * share))] ?? Number.NaN

const { url: server } = await openServer()
const name = `bench_${randomBytes(6).toString("hex")}`
await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
const url = `${server}/${name}`
const model = await startHeldModel(200)
const nodes = makeNodes(url, () => model.env)
await nodes.start(0)
await nodes.start(1)
const victim = await makeAccount(url, nodes)

const makeAttacker = async (n: number): Promise<Account> => {
  const made = await runCommand(
    { DATABASE_URL: url },
    "user",
    "create",
    "--email",
    `a${n}@example.org`,
    "--json"
  )
  const { token }: { token: string } = JSON.parse(made.stdout)
  const client = (node: number) => makeClient(nodes.server(node).baseUrl, token)
  const [first, ...others] = await Promise.all(
    Array.from({ length: workspacesEach }, async (_, index): Promise<string> => {
      const { data } = await client(0).json("POST", "/api/workspaces", { name: `W${index}` })
      return data.id
    })
  )
  if (first === undefined) throw new Error("no workspaces")
  return { clients: [client(0), client(1)], workspaces: [first, ...others] }
}

type Samples = Readonly<Record<"task" | "chat" | "live", Array<number>>> & { mib: number; notOver: number }

/** What the victim sees, how soon the nodes answer at all, and the most memory of a node. */
const look = async (millis: number): Promise<Samples> => {
  const samples: Samples = { task: [], chat: [], live: [], mib: 0, notOver: 0 }
  const until = Date.now() + millis
  const random = seeded(`${seed} victim`)
  const { workspaceId } = victim
  const timed = async (of: "task" | "chat" | "live", work: (signal: AbortSignal) => Promise<unknown>) => {
    const at = performance.now()
    await work(AbortSignal.timeout(patienceMillis)).catch(() => {
      samples.notOver++
    })
    samples[of].push(performance.now() - at)
  }
  const loop = async (pause: () => number, work: () => Promise<unknown>) => {
    while (Date.now() < until) {
      await work()
      await sleep(pause())
    }
  }
  const someMillis = () => random.between(50, 150)
  const client = () => victim.client(random.between(0, 1))
  const task = (signal: AbortSignal) =>
    Promise.resolve(client()).then(async ({ request }) => {
      const made = await request("POST", "/api/tasks", { workspaceId, prompt: "hello" }, signal)
      const { data } = (await made.json()) as { data: { id: string } }
      // Ends with the run.
      await (await request("GET", `/api/runs/${data.id}/events`, undefined, signal)).text()
    })
  const chat = async (signal: AbortSignal) => {
    const answer = await client().request(
      "POST",
      "/api/chat/messages",
      { workspaceId, content: "hello" },
      signal
    )
    if (!(await answer.text()).includes("event: done")) samples.notOver++
  }
  const live = (node: number) => async (signal: AbortSignal) =>
    void (await (await fetch(`${nodes.server(node).baseUrl}/health/live`, { signal })).text())
  await Promise.all([
    loop(someMillis, () => timed("task", task)),
    loop(someMillis, () => timed("chat", chat)),
    ...[0, 1].map((node) =>
      loop(
        () => 50,
        () => timed("live", live(node))
      )
    ),
    loop(
      () => 1_000,
      async () => {
        samples.mib = Math.max(samples.mib, ...usage().map(({ mib }) => mib))
      }
    )
  ])
  return samples
}

say(`node bench/tenants.ts ${process.argv.slice(2).join(" ")}   # seed ${seed}, pause ${pauseMillis} ms`)
say(`Node.js ${process.versions.node}; ${cpus().length} × ${cpus()[0]?.model.trim()}\n`)
const attackers = await Promise.all(Array.from({ length: accountCount }, (_, n) => makeAttacker(n)))
await look(3_000)
const alone = await look(aloneMillis)

const answers = new Map<string, number>()
let isOn = true
const attacking = attackAll(attackers, (n) => seeded(`${seed} attacker ${n}`), {
  isOn: () => isOn,
  count: (answer) => void answers.set(answer, (answers.get(answer) ?? 0) + 1),
  pauseMillis
})
const attacked = await look(attackMillis)
isOn = false
const waited = await onDatabase(
  url,
  (sql) => sql<{ kind: string; status: string; count: number }>`
    select kind, status, count(*)::int as count from runs group by 1, 2 order by 1, 2`
)

print("", "alone: p50, p99", "under attack: p50, p99", "ratio of p99", "how many")
print("---", "---", "---", "---", "---")
const ratios = (["task", "chat", "live"] as const).map((of) => {
  const both = [alone, attacked].map((samples) => [0.5, 0.99].map((share) => percentile(samples[of], share)))
  const ratio = (both[1]?.[1] ?? 0) / (both[0]?.[1] ?? 1)
  const cells = both.map((pair) => pair.map((value) => `${value.toFixed(0)} ms`).join(", "))
  print(
    of === "live" ? "/health/live" : of,
    ...cells,
    ratio.toFixed(1),
    `${alone[of].length}, ${attacked[of].length}`
  )
  return ratio
})
print("memory of a node at most", `${alone.mib.toFixed(0)} MiB`, `${attacked.mib.toFixed(0)} MiB`, "", "")
print("not over or in error", alone.notOver, attacked.notOver, "", "")
say(
  `\nattack: ${Array.from(answers, ([answer, count]) => `${count} ${answer}`)
    .sort()
    .join("; ")}`
)
say(`runs: ${waited.map(({ count, kind, status }) => `${count} ${kind}s ${status}`).join(", ")}`)

await nodes.stopAll()
model.close()
await attacking
await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
const isGood = ratios.slice(0, 2).every((ratio) => ratio < 3) && percentile(attacked.live, 0.99) < 100
say(isGood ? "\nwithin the goals" : "\nnot within the goals")
process.exit(isGood && attacked.notOver === 0 ? 0 : 1)
