import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import type { Socket } from "node:net"
import { sleep } from "../../test/support/Durability.ts"

/** What a file or link of /proc says; empty where the process is gone, or this is no Linux. */
const told = (read: () => string) => {
  try {
    return read()
  } catch {
    return ""
  }
}

const textOf = (path: string) => told(() => readFileSync(path, "utf8"))

const children = (): ReadonlyArray<number> =>
  (textOf(`/proc/${process.pid}/task/${process.pid}/children`).match(/\d+/g) ?? []).map(Number)

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

/** What the nodes use: children of this process. */
export const usage = () =>
  children().flatMap((pid) => {
    if (!textOf(`/proc/${pid}/cmdline`).includes("scripts/start.mjs")) return []
    const fields = textOf(`/proc/${pid}/stat`)
      .replace(/^.*\) /, "")
      .split(" ")
    const [, kib] = /^VmRSS:\s+(\d+)/m.exec(textOf(`/proc/${pid}/status`)) ?? []
    // utime and stime, in ticks of 10 ms.
    return [{ mib: Number(kib) / 1024, cpuMillis: (Number(fields[11]) + Number(fields[12])) * 10 }]
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
