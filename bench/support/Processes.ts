import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import type { Socket } from "node:net"
import * as Effect from "effect/Effect"
import { onDatabase, sleep } from "../../test/support/Durability.ts"

/** What a file or link of /proc says; empty where the process is gone, or this is no Linux. */
const told = (read: () => string) => {
  try {
    return read()
  } catch {
    return ""
  }
}

const textOf = (path: string) => told(() => readFileSync(path, "utf8"))

const childrenOf = (pid: number): ReadonlyArray<number> =>
  (textOf(`/proc/${pid}/task/${pid}/children`).match(/\d+/g) ?? []).map(Number)
const children = () => childrenOf(process.pid)

const address = (port = 0) => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`

/** The child of this process that has the other end of a connection on 127.0.0.1. */
export const clientOf = ({ localPort, remotePort }: Socket): number | undefined => {
  const [near, far] = [address(remotePort), address(localPort)]
  const row = textOf("/proc/net/tcp")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, remote]) => local === near && remote === far)
  const socket = `socket:[${row?.[9]}]`
  return children().find((pid) => {
    const folder = `/proc/${pid}/fd`
    const files = told(() => readdirSync(folder).join(" ")).split(" ")
    return files.some((file) => told(() => readlinkSync(`${folder}/${file}`)) === socket)
  })
}

const statOf = (pid: number | string) =>
  textOf(`/proc/${pid}/stat`)
    .replace(/^.*\) /, "")
    .split(" ")

/** CPU time of a process. utime and stime, in ticks of 10 ms. */
export const cpuMillisOf = (pid: number): number => {
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** CPU time of a PostgreSQL server on this machine, of sessions that are over as well. */
export const cpuOfDatabase = async (url: string): Promise<number> => {
  const postmaster = await onDatabase(url, (sql) =>
    // While the session is there.
    Effect.map(sql<{ pid: number }>`select pg_backend_pid() as pid`, ([row]) =>
      Number(statOf(row?.pid ?? 0)[1])
    )
  )
  const own = statOf(postmaster)
  const ended = (Number(own[13]) + Number(own[14])) * 10
  // A session may be over since its number was read.
  const now = childrenOf(postmaster).map(cpuMillisOf).filter(Number.isFinite)
  return now.reduce((sum, millis) => sum + millis, cpuMillisOf(postmaster) + ended)
}

/** What the nodes use: children of this process. */
export const usage = () =>
  children().flatMap((pid) => {
    if (!textOf(`/proc/${pid}/cmdline`).includes("scripts/start.mjs")) return []
    const [, kib] = /^VmRSS:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`)) ?? []
    return [{ mib: Number(kib) / 1024, cpuMillis: cpuMillisOf(pid) }]
  })

/** Memory and CPU of each node while it has nothing to do for 10 s. */
export const resting = async () => {
  const millis = 10_000
  const before = usage()
  await sleep(millis)
  return usage()
    .map(({ cpuMillis, mib }, n) => {
      const cpu = ((cpuMillis - (before[n]?.cpuMillis ?? 0)) / millis) * 100
      return `${mib.toFixed(0)} MiB ${cpu.toFixed(1)} % CPU`
    })
    .join(" and ")
}
