import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { makeAccount, makeNodes, onDatabase } from "../../test/support/Durability.ts"

export interface SiteOptions {
  readonly env: Readonly<Record<string, string>>
  readonly nodes: number
  /** Fills the database before a node has it. */
  readonly seed?: (filling: Filling) => Promise<void>
}

export interface Filling {
  readonly workspaceId: string
  readonly run: (statement: string) => Promise<unknown>
}

/** Nothing is refused for how much there is of it, nor for how often it is asked for. */
export const unlimited = {
  AGENTD_QUOTAS: JSON.stringify({
    free: Object.fromEntries(
      [
        ...["agents", "projects", "cronJobs", "providerKeys", "connectors", "memoryEntries", "memoryBytes"],
        ...["pendingRuns", "workspacesOwned", "tokens"]
      ].map((quota) => [quota, null])
    )
  }),
  AGENTD_RATE_PER_MINUTE: "0"
}

/** What a process has had of the processors, its user's part and the kernel's. */
export const cpuMillisOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  // In ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** What a process has read, from sockets too. */
export const readBytesOf = (pid: number): number =>
  Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1])

/** Memory that a process holds, in MiB. */
export const residentOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

/** By this role a bench looks and seeds, so that what it asks for itself can be told from what the service asks for. */
export const observer = "agentd_bench"

/** The URL of a database for that role; `prepareObserver` makes it. */
const observed = (url: string) => Object.assign(new URL(url), { username: observer }).href

export const prepareObserver = async (server: string) => {
  const find = `select from pg_roles where rolname = '${observer}'`
  await onDatabase(`${server}/postgres`, (sql) =>
    sql.unsafe(
      `do $$ begin if not exists (${find}) then create role ${observer} superuser login; end if; end $$`
    )
  )
  await onDatabase(`${server}/postgres`, (sql) => sql`create extension if not exists pg_stat_statements`)
}

/** Nodes on a database of its own on this server, with its first user. */
export const openSite = async (server: string, { env, nodes: count, seed }: SiteOptions) => {
  const name = `bench_${randomBytes(6).toString("hex")}`
  await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
  const url = `${server}/${name}`
  const nodes = makeNodes(url, () => env)
  const account = await makeAccount(url, nodes)
  const run = (statement: string) => onDatabase(observed(url), (sql) => sql.unsafe(statement))
  if (seed !== undefined) {
    await seed({ workspaceId: account.workspaceId, run })
    await run("vacuum analyze")
  }
  await Promise.all(Array.from({ length: count }, (_, node) => nodes.start(node)))
  return {
    ...account,
    close: async () => {
      await nodes.stopAll()
      await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
    },
    name,
    nodes,
    pids: () => Array.from({ length: count }, (_, node) => nodes.server(node).pid),
    run,
    /** For this program's own looks. */
    url: observed(url)
  }
}

export type Site = Awaited<ReturnType<typeof openSite>>
