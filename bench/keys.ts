/**
 * An Idempotency-Key and what its request does are there together or not at all, whenever a node dies: clients send
 * requests with keys to two nodes, each until it is answered, while one node after the other is killed (-9) and started
 * again. One look at the database after each kill, in one snapshot, finds every effect with its key and every key with
 * its effect; in the end there is one of each for every request. Exit code 1 if not.
 *
 *   node bench/keys.ts [--kills 30] [--clients 16] [--seed N] [--ports 4100]
 *
 * It brings its own PostgreSQL (`initdb` and `pg_ctl` in PATH), with fsync on, or makes a database on that of
 * DATABASE_URL=postgres://user@host:port.
 */
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import { makeAccount, makeNodes, onDatabase, sleep } from "../test/support/Durability.ts"
import { postUntilAnswered } from "../test/support/Repeating.ts"
import { describe } from "./support/About.ts"
import { seeded } from "./support/Seed.ts"
import { openServer } from "./support/Server.ts"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "30" },
    clients: { type: "string", default: "16" },
    seed: { type: "string" },
    ports: { type: "string", default: "0" }
  }
})
const seed = values.seed ?? String(Date.now() % 1_000_000)
const random = seeded(seed)
const say = (text: string) => process.stdout.write(`${text}\n`)
const firstPort = Number(values.ports)

const server = await openServer()
const about = await describe(server.url)
say(`${about.commit}, ${about.machine}. ${about.versions}; ${about.durability}\n`)
const database = `keys_${randomBytes(6).toString("hex")}`
await onDatabase(`${server.url}/postgres`, (sql) => sql.unsafe(`create database ${database}`))
const url = `${server.url}/${database}`
const nodes = makeNodes(url, (node) => ({ PORT: String(firstPort === 0 ? 0 : firstPort + node) }), {
  AGENTD_LEASE_SECONDS: "5",
  AGENTD_SECRET_KEY: randomBytes(32).toString("base64"),
  AGENTD_DATABASE_TIMEOUT_SECONDS: "10"
})
await Promise.all([nodes.start(0), nodes.start(1)])
const { token, workspaceId } = await makeAccount(url, nodes)
await onDatabase(url, (sql) => sql`update workspaces set plan = 'pro'`)
const addresses = [0, 1].map((node) => () => nodes.server(node).baseUrl)

/** What is asked for, in turn: each makes one row that its key knows. */
const kinds: ReadonlyArray<(n: number) => { readonly path: string; readonly json: object }> = [
  (n) => ({ path: "/api/tasks", json: { workspaceId, prompt: `task ${n}` } }),
  (n) => ({ path: "/api/agents", json: { workspaceId, name: `agent ${n}` } }),
  (n) => ({ path: "/api/chat/messages", json: { workspaceId, content: `message ${n}` } }),
  (n) => ({ path: "/api/chat/memory", json: { workspaceId, key: `key ${n}`, value: "value" } })
]

/** How many effects have no key and how many keys no effect, of how many, in one snapshot. */
const look = () =>
  onDatabase(
    url,
    (sql) => sql<{ effects: number; keys: number; keyless: number; idle: number }>`
      with kept as materialized (
        select coalesce(turn_id, (answer::jsonb ->> 'body')::jsonb -> 'data' ->> 'id') as id from idempotency_keys
      ), effects as materialized (
        select id from runs union all select id from agents union all select id from memory_entries
      )
      select (select count(*)::int from effects) as effects, (select count(*)::int from kept) as keys,
        (select count(*)::int from effects where id not in (select id from kept)) as keyless,
        (select count(*)::int from kept where id not in (select id from effects)) as idle`
  ).then(([row]) => row ?? { effects: 0, keys: 0, keyless: 0, idle: 0 })

let isOver = false
let asked = 0
let sentMore = 0
let replayed = 0
const wrong: Array<string> = []
const client = async () => {
  while (!isOver) {
    const n = asked++
    const kind = kinds[n % kinds.length]
    if (kind === undefined) continue
    const answer = await postUntilAnswered(addresses, { ...kind(n), token, key: `key-${n}` })
    if (answer.status > 299) wrong.push(`${n}: ${answer.status} ${answer.text}`)
    if (answer.sent > 1) sentMore++
    if (answer.isReplay) replayed++
  }
}
const clients = Array.from({ length: Number(values.clients) }, client)
const failed = Promise.all(clients).then(() => undefined)
failed.catch((error) => wrong.push(String(error)))

const judge = async (when: string) => {
  const { effects, idle, keyless, keys } = await look()
  say(
    `${when}: ${effects} effects, ${keys} keys, ${keyless} effects without a key, ${idle} keys without an effect`
  )
  if (keyless > 0 || idle > 0)
    wrong.push(`${when}: ${keyless} effects without a key, ${idle} keys without an effect`)
}

for (let kill = 1; kill <= Number(values.kills); kill++) {
  await sleep(random.between(200, 1_000))
  const node = kill % 2
  await nodes.kill(node)
  await judge(`kill ${kill}, of node ${node}`)
  await nodes.start(node)
}
isOver = true
await failed.catch(() => undefined)
await judge("in the end")
const { effects, keys } = await look()
if (effects !== asked || keys !== asked)
  wrong.push(`${asked} requests have made ${effects} effects and ${keys} keys`)
say(
  `seed ${seed}: ${asked} requests, ${sentMore} of them sent more than once, ${replayed} of them answered again`
)
for (const problem of wrong.slice(0, 20)) say(problem)
say(wrong.length === 0 ? "nothing wrong" : `${wrong.length} things wrong`)
await nodes.stopAll()
process.exit(wrong.length === 0 ? 0 : 1)
