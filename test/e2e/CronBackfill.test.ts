import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeAccount, makeNodes, type Nodes, onDatabase, sleep } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

const name = "slots are made up once, whatever is killed"
const hourMillis = 3_600_000
const missed = 20

interface Entry {
  readonly scheduledAt: string
  readonly firedAt: string
  readonly outcome: string
  readonly runId: string | null
}

interface Ran {
  readonly id: string
  readonly status: string
  readonly begun: number
  readonly over: number
}

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>

  beforeAll(async () => {
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, () => ({}), { AGENTD_LEASE_SECONDS: "10" })
    await nodes.start(0)
    await nodes.start(1)
    account = await makeAccount(url, nodes)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  /** An hourly job of which 20 slots of the last week were missed; the others fired once. */
  const makeJob = async (prompt: string) => {
    const { workspaceId } = account
    const given = { workspaceId, name: "job", schedule: "@hourly", prompt }
    const { data } = await account.client(0).json("POST", "/api/cron-jobs", given)
    // It has no slot of its own meanwhile.
    await account.client(0).json("PATCH", `/api/cron-jobs/${data.id}`, { isActive: false })
    await onDatabase(
      url,
      (sql) => sql`
        insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome)
        select ${data.id}, at, at, case when n % 8 = 0 and n <= ${8 * missed}::int then 'missed' else 'fired' end
        from (select n, date_trunc('hour', now()) - n * interval '1 hour' as at from generate_series(1, 168) n) slots`
    )
    const now = Math.floor(Date.now() / hourMillis) * hourMillis
    const week = {
      from: new Date(now - 168 * hourMillis).toISOString(),
      to: new Date(now).toISOString()
    }
    return { id: data.id as string, week }
  }

  const backfill = async (node: number, id: string, body: object) =>
    (await account.client(node).json("POST", `/api/cron-jobs/${id}/backfill`, body)).data.slots as number

  const entries = async (node: number, id: string) => {
    const found: Array<Entry> = []
    for (const offset of [0, 100]) {
      const path = `/api/cron-jobs/${id}/fires?limit=100&offset=${offset}`
      found.push(...((await account.client(node).json("GET", path)).data as ReadonlyArray<Entry>))
    }
    return found
  }

  const ran = (id: string) =>
    onDatabase(
      url,
      (sql) => sql<Ran>`
        select id, status, extract(epoch from created_at)::float8 as begun, extract(epoch from finished_at)::float8 as over
        from runs where cron_job_id = ${id} order by created_at, id`
    )

  const isOver = async (id: string) => {
    const runs = await ran(id)
    return runs.length >= missed && runs.every(({ status }) => status === "COMPLETED")
  }

  const check = async (node: number, id: string) => {
    const made = (await entries(node, id)).filter(({ outcome }) => outcome === "backfilled")
    assert.lengthOf(made, missed)
    const runs = await ran(id)
    assert.sameMembers(
      made.map(({ runId }) => runId),
      runs.map((run) => run.id)
    )
    const inOrder = made.toSorted((a, b) => Date.parse(a.firedAt) - Date.parse(b.firedAt))
    assert.deepStrictEqual(
      inOrder.map(({ scheduledAt }) => scheduledAt),
      made.map(({ scheduledAt }) => scheduledAt).toSorted(),
      "a newer slot came first"
    )
    for (const [n, run] of runs.entries()) {
      assert.isTrue(n === 0 || run.begun >= (runs[n - 1]?.over ?? Number.NaN), "two were active at once")
    }
    return runs
  }

  it("20 of a week, asked for on two nodes at the same moment and again", async () => {
    const { id, week } = await makeJob("call current_time {}")
    const asked = await Promise.all([0, 1, 0, 1, 0, 1].map((node) => backfill(node, id, week)))
    assert.strictEqual(
      asked.reduce((sum, slots) => sum + slots),
      missed
    )
    const tookMillis = await until(() => isOver(id), "all slots are made up")
    assert.strictEqual(await backfill(0, id, week), 0)
    await sleep(1_500)
    await check(1, id)
    process.stdout.write(`backfill: ${missed} slots after ${tookMillis.toFixed(0)} ms\n`)
  })

  it("20 of a week, while a node is killed", async () => {
    const { id, week } = await makeJob("call current_time {}")
    const first = backfill(1, id, week).catch(() => 0)
    await until(async () => (await ran(id)).length >= 3, "some are made up")
    await nodes.kill(1)
    await first
    await backfill(0, id, week)
    await until(() => isOver(id), "all slots are made up")
    await nodes.start(1)
    assert.strictEqual(await backfill(1, id, week), 0)
    await sleep(1_500)
    await check(1, id)
  })
})
