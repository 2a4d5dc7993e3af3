import { onDatabase, sleep } from "../../test/support/Durability.ts"
import { median, notFlat, type Sample, stepsOf } from "./Laws.ts"
import { quantile, type Table, toText } from "./Report.ts"
import {
  cpuMillisOf,
  type Filling,
  observer,
  openSite,
  readBytesOf,
  residentOf,
  type Site,
  unlimited
} from "./Site.ts"

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

interface Statement {
  readonly id: string
  readonly text: string
  readonly calls: number
  readonly millis: number
  readonly buffers: number
}

/** What a site's database has done so far, by statement. */
const statementsOf = async (server: string, { name }: Site): Promise<ReadonlyArray<Statement>> =>
  onDatabase(
    `${server}/postgres`,
    (sql) => sql<Statement>`
      select queryid::text as id, min(query) as text, sum(calls)::float8 as calls,
        sum(total_exec_time)::float8 as millis, sum(shared_blks_hit + shared_blks_read)::float8 as buffers
      from pg_stat_statements
      where dbid = (select oid from pg_database where datname = ${name})
        and userid is distinct from (select oid from pg_roles where rolname = ${observer})
      group by 1`
  )

const since = (
  before: ReadonlyArray<Statement>,
  after: ReadonlyArray<Statement>
): ReadonlyArray<Statement> => {
  const was = new Map(before.map((statement) => [statement.id, statement]))
  return after.flatMap((statement) => {
    const { buffers = 0, calls = 0, millis = 0 } = was.get(statement.id) ?? {}
    if (statement.calls === calls) return []
    const { id, text } = statement
    return [
      {
        id,
        text,
        calls: statement.calls - calls,
        millis: statement.millis - millis,
        buffers: statement.buffers - buffers
      }
    ]
  })
}

interface Place {
  readonly size: number
  readonly site: Site
}

interface Looked {
  readonly seconds: number
  readonly statements: ReadonlyArray<Statement>
  readonly cpuMillis: number
  readonly readBytes: number
}

const settleMillis = 250
/** What is looked after once in a minute is in it once. */
const idleSeconds = { quick: 12, full: 62 }

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((one, other) => one + other, 0)

/** What is done meanwhile, by the database for each site and by each site's nodes. */
export const watching = async (server: string, places: ReadonlyArray<Place>) => {
  const look = () =>
    Promise.all(
      places.map(async ({ site }) => ({
        at: performance.now(),
        cpuMillis: sum(site.pids().map(cpuMillisOf)),
        readBytes: sum(site.pids().map(readBytesOf)),
        statements: await statementsOf(server, site)
      }))
    )
  const before = await look()
  return async (): Promise<ReadonlyArray<Looked>> => {
    await sleep(settleMillis)
    const after = await look()
    return after.map((now, n) => {
      const was = before[n] ?? now
      return {
        seconds: (now.at - was.at) / 1000,
        cpuMillis: now.cpuMillis - was.cpuMillis,
        readBytes: now.readBytes - was.readBytes,
        statements: since(was.statements, now.statements)
      }
    })
  }
}

export const total = (statements: ReadonlyArray<Statement>, of: "calls" | "millis" | "buffers") =>
  sum(statements.map((statement) => statement[of]))

/** Of one second with nothing to do. */
const idle = async (server: string, places: ReadonlyArray<Place>, idleFor: number) => {
  const ended = await watching(server, places)
  await sleep(idleFor * 1000)
  return (await ended()).map(({ cpuMillis, readBytes, seconds, statements }) => ({
    cpuMillis: cpuMillis / seconds,
    readBytes: readBytes / seconds,
    statements: statements.map((statement) => ({
      ...statement,
      calls: statement.calls / seconds,
      millis: statement.millis / seconds,
      buffers: statement.buffers / seconds
    }))
  }))
}

type Idle = Awaited<ReturnType<typeof idle>>[number]

/** The statement that looks at most, beyond what it does anyway. */
const heaviest = ({ seconds, statements }: Looked, resting: Idle, times: number) => {
  const idling = new Map(resting.statements.map((statement) => [statement.id, statement]))
  const own = statements.map((statement) => ({
    ...statement,
    buffers: (statement.buffers - (idling.get(statement.id)?.buffers ?? 0) * seconds) / times,
    millis: (statement.millis - (idling.get(statement.id)?.millis ?? 0) * seconds) / times
  }))
  return own.sort((a, b) => b.millis - a.millis)[0]
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
    const beyond = (of: (one: Pick<Looked, "statements" | "cpuMillis" | "readBytes">) => number) =>
      Math.max(0, (of(worked) - of(rested) * worked.seconds) / rounds)
    return [
      {
        size,
        millis: took[n] ?? [],
        statements: beyond((one) => total(one.statements, "calls")),
        buffers: beyond((one) => total(one.statements, "buffers")),
        databaseMillis: beyond((one) => total(one.statements, "millis")),
        cpuMillis: beyond(({ cpuMillis }) => cpuMillis),
        readBytes: beyond(({ readBytes }) => readBytes)
      }
    ]
  })
  const [last, rest] = [looked.at(-1), resting.at(-1)]
  return { samples, worst: last && rest && heaviest(last, rest, rounds) }
}

export interface Found {
  readonly law: string
  readonly what: string
  readonly of: string
  readonly samples: ReadonlyArray<Sample>
  readonly grows: ReadonlyArray<string>
  readonly worst: string | undefined
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

const ratio = (value: number) => `×${toText(value)}`

/** Time, and what of others it takes. */
const cell = ({ buffers, cpuMillis, databaseMillis, millis, readBytes, statements }: Sample) =>
  `${toText(median(millis))} / ${toText(quantile(millis, 0.99))} ms; ${toText(statements)} st, ` +
  `${toText(buffers)} buf, db ${toText(databaseMillis)} ms, cpu ${toText(cpuMillis)} ms, ` +
  `${toText(readBytes / 1000)} kB`

export const cellsOf = ({ grows, samples, what }: Found): ReadonlyArray<string> => {
  const of = (value: (sample: Sample) => number) =>
    stepsOf(samples.map((sample) => ({ size: sample.size, value: value(sample) })))
      .map((step) => ratio(step.ratio))
      .join(", ")
  const law = `${of(({ millis }) => median(millis))}; buf ${of(({ buffers }) => buffers)}`
  return [what, ...samples.map(cell), law, grows.length === 0 ? "yes" : `**no**: ${grows.join(", ")}`]
}

export const headOf = ({ of, samples }: Found): ReadonlyArray<string> => [
  "what",
  ...samples.map(({ size }) => `${size.toLocaleString("en")} ${of}`),
  "from one to the next",
  "flat"
]

/** One table for each law. */
export const tablesOf = (found: ReadonlyArray<Found>): ReadonlyArray<Table> =>
  Array.from(
    Map.groupBy(found, ({ law }) => law),
    ([law, all]) => ({
      title: law,
      head: all[0] === undefined ? [] : headOf(all[0]),
      rows: all.map(cellsOf)
    })
  )
