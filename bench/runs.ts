/**
 * The goals of runs on one node and a real PostgreSQL with fsync on: how soon the first step is there, how
 * many runs a second, statements per run, and how soon a run goes on whose node was killed.
 *
 *   DATABASE_URL=postgres://postgres@127.0.0.1:5566 node bench/runs.ts [idle] [busy] [statements] [takeover]
 *
 * The server is a scratch one: each part makes a database of its own there and drops it. A run is three
 * steps of the offline model: an answer, a tool call, an answer. `statements` needs pg_stat_statements in
 * shared_preload_libraries. Server, database and this program share the machine: read times as bounds.
 */
import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeAccount, makeNodes, onDatabase, sleep, startModel } from "../test/support/Durability.ts"
import { until } from "../test/support/Until.ts"

const { DATABASE_URL: server = "" } = process.env
const wanted = process.argv.slice(2)
const prompt = "call current_time {}"
const clients = 64

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const millis = (value: number) => `${value.toFixed(1)} ms`
const percentile = (values: ReadonlyArray<number>, share: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
const spread = (values: ReadonlyArray<number>) =>
  `p50 ${millis(percentile(values, 0.5))}, p99 ${millis(percentile(values, 0.99))}, most ${millis(percentile(values, 1))}`

const part = async (
  name: string,
  env: Readonly<Record<string, string>>,
  work: (site: Awaited<ReturnType<typeof makeSite>>) => Promise<void>
) => {
  if (wanted.length > 0 && !wanted.includes(name)) return
  const site = await makeSite(env)
  try {
    await work(site)
  } finally {
    await site.close()
  }
}

const makeSite = async (env: Readonly<Record<string, string>>) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  const model = await startModel(100)
  const nodes = makeNodes(url, model.env, env)
  await nodes.start(0)
  const account = await makeAccount(url, nodes)
  const close = async () => {
    await nodes.stopAll()
    model.close()
    await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
  }
  /** A run of the offline model, whatever the environment has. */
  const post = async (workspaceId = account.workspaceId) => {
    const answer = await account.client(0).request("POST", "/api/tasks", {
      workspaceId,
      prompt,
      autonomyLevel: "autonomous",
      selectedProvider: "offline"
    })
    const { data } = (await answer.json()) as { data: { id: string } }
    if (answer.status !== 201) throw new Error(`POST /api/tasks: ${answer.status}`)
    return data.id
  }
  return { account, close, model, name, nodes, post, url }
}

/** Tells when runs are over, from one look at the database every few milliseconds for all of them. */
const watcher = (url: string, everyMillis: number) => {
  const waiting = new Map<string, () => void>()
  let going = true
  const ended = Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    while (going) {
      const ids = Array.from(waiting.keys())
      if (ids.length > 0) {
        const over = yield* sql<{ id: string; status: string }>`
          select id, status from runs where ${sql.in("id", ids)} and finished_at is not null`
        for (const { id, status } of over) {
          if (status !== "COMPLETED") throw new Error(`${id} is ${status}`)
          waiting.get(id)?.()
          waiting.delete(id)
        }
      }
      yield* Effect.sleep(everyMillis)
    }
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })), Effect.runPromise)
  return {
    over: (id: string) => new Promise<void>((done) => waiting.set(id, done)),
    stop: () => {
      going = false
      return ended
    }
  }
}

type Site = Awaited<ReturnType<typeof makeSite>>

const times = (site: Site) =>
  onDatabase(
    site.url,
    (sql) => sql<{ id: string; first: number; finished: number }>`
      select r.id, extract(epoch from s.created_at)::float8 * 1000 as first,
        extract(epoch from r.finished_at)::float8 * 1000 as finished
      from runs r join run_steps s on s.run_id = r.id and s.index = 0 where r.status = 'COMPLETED'`
  )

/** The wall clock in parts of a millisecond. */
const clock = () => performance.timeOrigin + performance.now()

const all = {
  AGENTD_RUN_CONCURRENCY: String(clients),
  AGENTD_RUNS_PER_WORKSPACE: String(clients),
  AGENTD_RUNS_PER_OWNER: String(clients)
}

print("what", "result")
print("---", "---")

await part("idle", {}, async (site) => {
  const { over, stop } = watcher(site.url, 10)
  const posted = new Map<string, { readonly at: number; readonly answered: number }>()
  for (let n = 0; n < 320; n++) {
    const at = clock()
    const id = await site.post()
    // The first ones warm it up.
    if (n >= 20) posted.set(id, { at, answered: clock() - at })
    await over(id)
    await sleep(10)
  }
  await stop()
  const measured = (await times(site)).flatMap(({ finished, first, id }) => {
    const given = posted.get(id)
    return given === undefined ? [] : [{ ...given, first: first - given.at, finished: finished - given.at }]
  })
  print(`idle, ${measured.length} runs: POST answered`, spread(measured.map(({ answered }) => answered)))
  print(
    "idle: from POST to the first journaled step (its statement begins)",
    spread(measured.map((m) => m.first))
  )
  print("idle: from POST to COMPLETED", spread(measured.map((m) => m.finished)))
})

await part("busy", all, async (site) => {
  const round = async (
    name: string,
    seconds: number,
    waits: boolean,
    workspaces: ReadonlyArray<string> = []
  ) => {
    const { over, stop } = watcher(site.url, 15)
    const started = Date.now()
    const end = started + seconds * 1000
    const latencies: Array<number> = []
    await Promise.all(
      Array.from({ length: clients }, async (_, n) => {
        while (Date.now() < end) {
          const at = performance.now()
          const id = await site.post(workspaces[n % workspaces.length])
          if (!waits) latencies.push(performance.now() - at)
          if (waits) {
            await over(id)
            latencies.push(performance.now() - at)
          }
        }
      })
    )
    await stop()
    const within = (await times(site)).filter(({ finished }) => finished >= started && finished < end).length
    const rate = `${(latencies.length / seconds).toFixed(0)} POSTs/s, ${(within / seconds).toFixed(0)} runs/s`
    print(
      `${name} ${clients} clients for ${seconds} s`,
      `${rate}; ${waits ? "each" : "POST"}: ${spread(latencies)}`
    )
    const drained = await until(
      async () => {
        const [row] = await onDatabase(
          site.url,
          (sql) => sql<{ left: number }>`
            select count(*)::int as left from runs where status in ('PENDING', 'RUNNING')`
        )
        return row?.left === 0
      },
      "all over",
      300_000
    )
    if (!waits) print(`${name} the rest over after`, `${(drained / 1000).toFixed(1)} s`)
  }
  await round("warm-up:", 3, true)
  await round("POST, wait for COMPLETED:", 10, true)
  const workspaces = await Promise.all(
    Array.from({ length: 8 }, async (_, n): Promise<string> => {
      const { data } = await site.account.client(0).json("POST", "/api/workspaces", { name: `W${n}` })
      return data.id
    })
  )
  await round("the same in 8 workspaces:", 10, true, workspaces)
  await round("once more in one:", 10, true)
  await round("POST alone:", 10, false)
})

/** Statements of the site's database so far, by their text. */
const statements = (site: Site) =>
  onDatabase(
    `${server}/postgres`,
    (sql) => sql<{ query: string; calls: number }>`
      select regexp_replace(left(query, 400), '\\s+', ' ', 'g') as query, sum(calls)::int as calls
      from pg_stat_statements
      where dbid = (select oid from pg_database where datname = ${site.name})
      group by 1 order by 2 desc`
  )
const total = (rows: ReadonlyArray<{ readonly calls: number }>) =>
  rows.reduce((sum, { calls }) => sum + calls, 0)

await part("statements", all, async (site) => {
  await onDatabase(`${server}/postgres`, (sql) => sql`create extension if not exists pg_stat_statements`)
  const reset = () => onDatabase(`${server}/postgres`, (sql) => sql`select pg_stat_statements_reset()`)
  for (let n = 0; n < 20; n++) await site.post()
  await sleep(1_000)
  await reset()
  await sleep(5_000)
  const resting = total(await statements(site)) / 5
  print("statements per second with nothing to do", resting.toFixed(1))
  for (const atOnce of [1, clients]) {
    const runs = 320
    await reset()
    const started = performance.now()
    for (let n = 0; n < runs; n += atOnce) {
      await Promise.all(Array.from({ length: atOnce }, () => site.post()))
      await sleep(atOnce === 1 ? 20 : 500)
    }
    await sleep(500)
    const took = (performance.now() - started) / 1000
    const rows = await statements(site)
    const each = (total(rows) - resting * took) / runs
    print(`statements per run, ${atOnce} at once (less those of an idle node)`, each.toFixed(2))
    for (const { calls, query } of rows.slice(0, 14)) print((calls / runs).toFixed(2), query.slice(0, 150))
  }
})

for (const { lease, rounds } of [
  { lease: 3, rounds: 6 },
  { lease: 15, rounds: 2 }
]) {
  await part("takeover", { AGENTD_LEASE_SECONDS: String(lease) }, async (site) => {
    await site.nodes.start(1)
    const took: Array<number> = []
    for (let job = 1; job <= rounds; job++) {
      const asked = () => site.model.calls.filter((call) => call.job === job)
      await site.account.submit(0, `job ${job} hang`)
      await until(() => asked().length === 1, "the model was asked", 5_000)
      // Somewhere between two renewals of the lease.
      await sleep(Math.random() * lease * 1000)
      await site.nodes.kill(0)
      const at = site.nodes.kills.at(-1)?.from ?? 0
      await until(() => asked().length === 2, "the other node goes on", 60_000)
      took.push((asked()[1]?.at ?? 0) - at)
      await site.nodes.start(0)
    }
    const list = took.map((value) => (value / 1000).toFixed(2)).join(", ")
    print(`takeover after kill -9, lease ${lease} s`, `${list} s`)
  })
}
