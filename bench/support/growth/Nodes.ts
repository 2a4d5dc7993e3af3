import { sleep, untilIdle } from "../../../test/support/Durability.ts"
import type { Measured } from "../Report.ts"
import { openSite, type Site, unlimited } from "../Site.ts"
import { total, watching } from "../Statements.ts"

const atOnce = 32
const rounds = 3
const restSeconds = 10
const env = {
  ...unlimited,
  AGENTD_RUNS_PER_WORKSPACE: "1000",
  AGENTD_RUNS_PER_OWNER: "10000"
}

interface Place {
  readonly size: number
  readonly site: Site
  readonly rates: Array<number>
}

/** Sends so many tasks of three steps to all nodes in turn, and waits for them; answers how many of them a second. */
const work = async ({ site, size }: Place, count: number) => {
  const began = performance.now()
  let sent = 0
  const send = async () => {
    while (sent < count) {
      const body = {
        workspaceId: site.workspaceId,
        prompt: "call current_time {}",
        selectedProvider: "offline",
        autonomyLevel: "autonomous"
      }
      const answer = await site.client(sent++ % size).request("POST", "/api/tasks", body)
      await answer.text()
      if (answer.status !== 201) throw new Error(`POST /api/tasks: ${answer.status}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, send))
  await untilIdle(site.url)
  return (count / (performance.now() - began)) * 1000
}

const each = (
  places: ReadonlyArray<Place>,
  values: ReadonlyArray<number>,
  what: string,
  unit: string,
  goal?: string
) =>
  places.map(({ size }, n): Measured => {
    const before = n === 0 ? undefined : values[n - 1]
    const beside = n === 0 ? "" : ` beside ${places[n - 1]?.size}`
    return {
      what: `nodes: ${what}, ${size}${beside}`,
      agentd: values[n] ?? Number.NaN,
      beside: before,
      unit,
      goal
    }
  })

/** Runs per second, and what they and an idle second take, of so many nodes on one database, in turn. */
export const measureNodes = async (server: string, sizes: ReadonlyArray<number>, count: number) => {
  const places: Array<Place> = []
  try {
    for (const size of sizes) {
      places.push({ size, site: await openSite(server, { env, nodes: size }), rates: [] })
    }
    for (const place of places) await work(place, Math.ceil(count / 4))
    await sleep(3_000)
    const rested = await watching(server, places)
    await sleep(restSeconds * 1000)
    const idle = await rested()
    const worked = await watching(server, places)
    for (let n = 0; n < rounds; n++) for (const place of places) place.rates.push(await work(place, count))
    const busy = await worked()
    const beyond = (of: (looked: (typeof busy)[number]) => number) =>
      places.map((_, n) => {
        const [working, resting] = [busy[n], idle[n]]
        if (working === undefined || resting === undefined) return Number.NaN
        return (of(working) - (of(resting) / resting.seconds) * working.seconds) / (rounds * count)
      })
    const rates = places.map(({ rates }) => rates.reduce((sum, rate) => sum + rate, 0) / rounds)
    return [
      ...each(places, rates, "three-step runs", "runs/s"),
      ...each(
        places,
        beyond(({ cpuMillis }) => cpuMillis),
        "CPU of all nodes",
        "ms a run"
      ),
      ...each(
        places,
        beyond(({ statements }) => total(statements, "calls")),
        "statements",
        "a run"
      ),
      ...each(
        places,
        beyond(({ statements }) => total(statements, "millis")),
        "work of the database",
        "ms a run"
      ),
      ...each(
        places,
        idle.map(({ seconds, statements }) => total(statements, "calls") / seconds),
        "statements with nothing to do",
        "per s"
      ),
      ...each(
        places,
        idle.map(({ cpuMillis, seconds }) => cpuMillis / seconds),
        "CPU with nothing to do",
        "ms per s"
      )
    ]
  } finally {
    await Promise.all(places.map(({ site }) => site.close()))
  }
}
