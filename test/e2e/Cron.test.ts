import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeAccount, makeNodes, type Nodes, onDatabase, sleep } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

const name = "cron jobs outlive the node that fires them"
const jobs = 30
const seconds = 10

interface Slot {
  readonly job: string
  /** Seconds since 1970. */
  readonly at: number
  readonly outcome: string
  readonly run: string | null
  readonly lag: number
}

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>

  beforeAll(async () => {
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, () => ({}), { AGENTD_LEASE_SECONDS: "10", AGENTD_RUNS_PER_WORKSPACE: "48" })
    await nodes.start(0)
    await Promise.all([nodes.start(1), nodes.start(2)])
    account = await makeAccount(url, nodes)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const make = async (node: number, schedule: string): Promise<string> => {
    const { workspaceId } = account
    const given = { workspaceId, name: "job", schedule, prompt: "call current_time {}" }
    return (await account.client(node).json("POST", "/api/cron-jobs", given)).data.id
  }
  const ledger = () =>
    onDatabase(
      url,
      (sql) => sql<Slot>`
        select cron_job_id as job, extract(epoch from scheduled_at)::int as at, outcome, run_id as run,
          extract(epoch from fired_at - scheduled_at)::float8 * 1000 as lag
        from cron_fires order by cron_job_id, scheduled_at`
    )
  const clock = async () => {
    const [row] = await onDatabase(
      url,
      (sql) => sql<{ at: number }>`select extract(epoch from clock_timestamp())::float8 as at`
    )
    return row?.at ?? Number.NaN
  }

  it("fires each slot of each second once while a node is killed", async () => {
    const ids = await Promise.all(Array.from({ length: jobs }, (_, n) => make(n % 3, "* * * * * *")))
    const from = Math.ceil(await clock()) + 1
    const to = from + seconds
    await until(async () => (await clock()) > from + 3.004, "three seconds have passed")
    await nodes.kill(1)
    const handled = async () => (await ledger()).filter(({ at }) => at >= from && at < to)
    await until(async () => (await handled()).length >= jobs * seconds, "all slots were handled")
    await until(async () => (await clock()) > to + 1, "what would come twice has come")

    const slots = await handled()
    for (const id of ids) {
      assert.deepStrictEqual(
        slots.filter(({ job }) => job === id).map(({ at }) => at - from),
        Array.from({ length: seconds }, (_, n) => n),
        "a slot is missing, or there twice"
      )
    }
    const [compared] = await onDatabase(
      url,
      (sql) => sql<{ runs: number; strays: number }>`
        select count(r.id)::int as runs, count(*) filter (
          where r.id is null or f.run_id is null or f.outcome <> 'fired')::int as strays
        from (select id from runs where cron_job_id is not null) r
          full join (select * from cron_fires where run_id is not null or outcome = 'fired') f on f.run_id = r.id`
    )
    assert.strictEqual(compared?.strays, 0, "a run without its slot, or a slot without its run")
    assert.isAtLeast(compared?.runs ?? 0, jobs)
    const fired = slots.filter(({ outcome }) => outcome === "fired").length
    const lags = slots.map(({ lag }) => lag).sort((a, b) => a - b)
    process.stdout.write(
      `cron: ${slots.length} slots, ${fired} fired, lag p50 ${lags[lags.length >> 1]?.toFixed(0)} ms, ` +
        `most ${lags.at(-1)?.toFixed(0)} ms\n`
    )
    for (const id of ids) {
      await account.client(0).json("DELETE", `/api/cron-jobs/${id}`)
      const { status } = await account.client(2).request("GET", `/api/cron-jobs/${id}/fires`)
      assert.strictEqual(status, 404)
    }
    await until(async () => (await ledger()).length === 0, "their ledgers are removed by and by")
  })

  it("a job that is made on one node is fired by another", async () => {
    const id = await make(0, "* * * * * *")
    await nodes.kill(0)
    const found = async () =>
      (await account.client(2).json("GET", `/api/cron-jobs/${id}/fires?limit=3`)).data as ReadonlyArray<{
        outcome: string
        lagMs: number
      }>
    await until(async () => (await found()).length === 3, "three slots were handled")
    const { status } = await account.client(2).request("PATCH", `/api/cron-jobs/${id}`, { isActive: false })
    assert.strictEqual(status, 200)
    const before = await ledger()
    await sleep(2_000)
    assert.deepStrictEqual(await ledger(), before)
  })
})
