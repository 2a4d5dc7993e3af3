import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { makeAccount, makeNodes, type Nodes, onDatabase, sleep } from "../support/Durability.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"

const name = "scheduled runs outlive the nodes that they were given to"
const count = 20

interface Run {
  readonly id: string
  readonly status: string
  readonly attempts: number
  readonly epoch: number
  /** Milliseconds from when it was to begin until it did. */
  readonly lag: number | null
}

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>

  beforeAll(async () => {
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, () => ({}))
    await nodes.start(0)
    await nodes.start(1)
    account = await makeAccount(url, nodes)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const clock = async () => {
    const [row] = await onDatabase(
      url,
      (sql) => sql<{ millis: number }>`select extract(epoch from clock_timestamp())::float8 * 1000 as millis`
    )
    return row?.millis ?? Number.NaN
  }
  const make = async (node: number, runAt: Date): Promise<string> => {
    const given = {
      workspaceId: account.workspaceId,
      prompt: "call current_time {}",
      autonomyLevel: "autonomous"
    }
    const answer = await account.client(node).request("POST", "/api/tasks", { ...given, runAt })
    assert.strictEqual(answer.status, 201)
    const { data } = (await answer.json()) as { data: { id: string; status: string } }
    assert.strictEqual(data.status, "PENDING")
    return data.id
  }
  const runsOf = (at: Date) =>
    onDatabase(
      url,
      (sql) => sql<Run>`
        select id, status, attempts, epoch, extract(epoch from started_at - ${at}::timestamptz)::float8 * 1000 as lag
        from runs order by id`
    )
  const allDone = (runs: ReadonlyArray<Run>) => runs.every(({ status }) => status === "COMPLETED")

  it("begins each once, and none before its time", async () => {
    const at = new Date((await clock()) + 3_000)
    await Promise.all(Array.from({ length: count }, (_, n) => make(n % 2, at)))
    assert.isTrue((await runsOf(at)).every(({ status }) => status === "PENDING"))
    await until(async () => allDone(await runsOf(at)), "all have ended")
    const runs = await runsOf(at)
    assert.deepStrictEqual(
      runs.map(({ attempts, epoch }) => [attempts, epoch]),
      runs.map(() => [1, 1])
    )
    const lags = runs.map(({ lag }) => lag ?? Number.NaN).sort((a, b) => a - b)
    assert.isAtLeast(lags[0] ?? Number.NaN, 0)
    process.stdout.write(
      `runAt: lag p50 ${lags[lags.length >> 1]?.toFixed(0)} ms, most ${lags.at(-1)?.toFixed(0)} ms\n`
    )
    await onDatabase(url, (sql) => sql`delete from runs`)
  })

  it("begins each once that was due while all nodes were down, as soon as one is up", async () => {
    const at = new Date((await clock()) + 4_000)
    const ids = await Promise.all(Array.from({ length: count }, (_, n) => make(n % 2, at)))
    const far = await make(0, new Date(at.getTime() + 3_600_000))
    await Promise.all([nodes.kill(0), nodes.kill(1)])
    await until(async () => (await clock()) > at.getTime() + 500, "they are due")
    assert.isTrue((await runsOf(at)).every(({ status }) => status === "PENDING"))
    await Promise.all([nodes.start(0), nodes.start(1)])
    const due = async () => (await runsOf(at)).filter(({ id }) => id !== far)
    await until(async () => allDone(await due()), "all have ended")
    await sleep(1_000)
    assert.deepStrictEqual(
      (await due()).map(({ attempts, epoch, id }) => [id, attempts, epoch]),
      ids.toSorted().map((id) => [id, 1, 1])
    )
    const waiting = (await account.client(1).json("GET", `/api/runs/${far}`)).data
    assert.strictEqual(waiting.status, "PENDING")
    assert.strictEqual(waiting.runAt, new Date(at.getTime() + 3_600_000).toISOString())
    assert.strictEqual(
      (await account.client(1).json("POST", `/api/runs/${far}/cancel`)).data.status,
      "CANCELLED"
    )
    const again = await account.client(0).request("POST", `/api/runs/${far}/retry`)
    assert.strictEqual(again.status, 200)
    await until(async () => allDone(await runsOf(at)), "what is retried is due at once")
  })
})
