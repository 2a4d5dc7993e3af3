import { onDatabase, sleep } from "../../test/support/Durability.ts"
import { cpuMillisOf, observer, readBytesOf, type Site } from "./Site.ts"

/** What one statement of a site did. */
export interface Statement {
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

export interface Place {
  readonly size: number
  readonly site: Site
}

export interface Looked {
  readonly seconds: number
  readonly statements: ReadonlyArray<Statement>
  readonly cpuMillis: number
  readonly readBytes: number
}

const settleMillis = 250

export const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((one, other) => one + other, 0)

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
export const idle = async (server: string, places: ReadonlyArray<Place>, idleFor: number) => {
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

export type Idle = Awaited<ReturnType<typeof idle>>[number]

/**
 * Of each time, beyond what is done anyway: statement by statement, so that one that only idles takes nothing away from
 * the others. The one that takes longest comes first.
 */
export const beyondIdle = ({ seconds, statements }: Looked, resting: Idle, times: number) => {
  const idling = new Map(resting.statements.map((statement) => [statement.id, statement]))
  return statements
    .map((statement) => {
      const { buffers = 0, calls = 0, millis = 0 } = idling.get(statement.id) ?? {}
      const net = (worked: number, rested: number) => Math.max(0, worked - rested * seconds) / times
      return {
        ...statement,
        calls: net(statement.calls, calls),
        millis: net(statement.millis, millis),
        buffers: net(statement.buffers, buffers)
      }
    })
    .sort((a, b) => b.millis - a.millis)
}
