import { sleep } from "../../test/support/Durability.ts"
import { notFlat, type Sample } from "./Laws.ts"
import type { Found } from "./LawTables.ts"
import { toText } from "./Report.ts"
import { type Filling, openSite, residentOf, type Site, unlimited } from "./Site.ts"
import {
  beyondIdle,
  type Idle,
  idle,
  type Place,
  type Statement,
  sum,
  total,
  watching
} from "./Statements.ts"

/** What is looked after once in a minute is in it once. */
const idleSeconds = { quick: 12, full: 62 }

/** Something done again and again at each size; `n` tells the times apart. */
export interface Operation {
  readonly what: string
  /** How often at most: where once says enough, or where each time uses something up. */
  readonly most?: number
  /** A number that it answers is how many ms it took; else that is from its begin to its end. */
  readonly run: (site: Site, n: number) => Promise<unknown>
}

/** What is measured while one thing grows. */
export interface Law {
  readonly name: string
  /** What there is so many of: "runs stored". */
  readonly of: string
  readonly sizes: ReadonlyArray<number>
  /** For `--quick`. */
  readonly few: ReadonlyArray<number>
  readonly env?: Readonly<Record<string, string>>
  readonly seed: (size: number) => (filling: Filling) => Promise<void>
  readonly operations: (size: number) => ReadonlyArray<Operation>
}

/** Time after time, at each size in turn, so that what else the machine does meets all of them. */
const measure = async (
  server: string,
  places: ReadonlyArray<Place>,
  resting: ReadonlyArray<Idle>,
  operations: ReadonlyArray<Operation>,
  times: number
) => {
  const took = places.map((): Array<number> => [])
  const rounds = Math.min(times, operations[0]?.most ?? times)
  const perform = async (place: Place, n: number, at: number) => {
    const started = performance.now()
    const told = await operations[at]?.run(place.site, n)
    return typeof told === "number" ? told : performance.now() - started
  }
  if (rounds > 2) for (const [at, place] of places.entries()) await perform(place, rounds, at)
  const ended = await watching(server, places)
  for (let n = 0; n < rounds; n++) {
    for (const [at, place] of places.entries()) took[at]?.push(await perform(place, n, at))
  }
  const looked = await ended()
  const samples = places.flatMap(({ size }, n): ReadonlyArray<Sample> => {
    const [worked, rested] = [looked[n], resting[n]]
    if (worked === undefined || rested === undefined) return []
    const beyond = (of: "cpuMillis" | "readBytes") =>
      Math.max(0, (worked[of] - rested[of] * worked.seconds) / rounds)
    const own = beyondIdle(worked, rested, rounds)
    return [
      {
        size,
        millis: took[n] ?? [],
        statements: total(own, "calls"),
        buffers: total(own, "buffers"),
        databaseMillis: total(own, "millis"),
        cpuMillis: beyond("cpuMillis"),
        readBytes: beyond("readBytes")
      }
    ]
  })
  const [last, rest] = [looked.at(-1), resting.at(-1)]
  return { samples, worst: last && rest && beyondIdle(last, rest, rounds)[0] }
}

/** Its beginning says what it is, its end where it looks. */
const shortened = (text: string) => {
  const all = text.replace(/\s+/g, " ").trim()
  return all.length <= 500 ? all : `${all.slice(0, 150)} … ${all.slice(-340)}`
}

/** An idle second as a sample of its own: it has no time but what the database works. */
const idleSample = (size: number, { cpuMillis, readBytes, statements }: Idle): Sample => ({
  size,
  millis: [total(statements, "millis")],
  statements: total(statements, "calls"),
  buffers: total(statements, "buffers"),
  databaseMillis: total(statements, "millis"),
  cpuMillis,
  readBytes
})

const toFound = (
  { name, of }: Law,
  what: string,
  samples: ReadonlyArray<Sample>,
  worst: Statement | undefined
): Found => {
  const grows = notFlat(samples)
  const told =
    worst && `${toText(worst.millis)} ms, ${toText(worst.buffers)} buffers: ${shortened(worst.text)}`
  return { law: name, of, what, samples, grows, worst: grows.length > 0 ? told : undefined }
}

/** Finds how one law goes; `told` of each operation when it is known. */
export const find = async (
  server: string,
  law: Law,
  {
    isQuick,
    note,
    times
  }: { readonly isQuick: boolean; readonly times: number; readonly note: (text: string) => void },
  told: (found: Found) => void
): Promise<void> => {
  const places: Array<Place> = []
  try {
    for (const size of isQuick ? law.few : law.sizes) {
      const began = performance.now()
      const site = await openSite(server, {
        env: { ...unlimited, ...law.env },
        nodes: 1,
        seed: law.seed(size)
      })
      places.push({ size, site })
      note(`${law.name}: ${size} ${law.of} after ${((performance.now() - began) / 1000).toFixed(1)} s`)
    }
    await sleep(2_000)
    const resting = await idle(server, places, idleSeconds[isQuick ? "quick" : "full"])
    const idlest = resting.at(-1)?.statements.toSorted((a, b) => b.millis - a.millis)[0]
    const idling = places.flatMap(({ size }, n) => (resting[n] ? [idleSample(size, resting[n])] : []))
    told(toFound(law, "a second with nothing to do (as ms: those of the database)", idling, idlest))
    const operations = places.map(({ size }) => law.operations(size))
    for (const [n, { what }] of (operations[0] ?? []).entries()) {
      const same = operations.flatMap((all) => all[n] ?? [])
      const { samples, worst } = await measure(server, places, resting, same, times)
      told(toFound(law, what, samples, worst))
    }
    const held = places.map(({ site }) => sum(site.pids().map(residentOf)).toFixed(0))
    note(`${law.name}: the nodes hold ${held.join(", ")} MiB`)
  } finally {
    await Promise.all(places.map(({ site }) => site.close()))
  }
}
