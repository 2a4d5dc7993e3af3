import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"

/** Keeps a process, its threads and what they start from now on to one core, where there is another. */
export const pin = (pid: number, core: number) => {
  if (availableParallelism() > core && pid > 0) {
    execFileSync("taskset", ["-acp", String(core), String(pid)], { stdio: "ignore" })
  }
}

/** What a process has used so far: by the clock of the kernel, in ticks of 10 ms. */
export const cpuMillisOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}
