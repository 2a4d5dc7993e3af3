import { spawn } from "node:child_process"
import { resolve } from "node:path"

/** A program of `bench/beside`, which says where it listens. */
export const startBeside = async (program: string, env: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, "../beside", program)], {
    env: { ...process.env, NODE_ENV: "production", ...env },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = new Promise<void>((done) => child.once("exit", () => done()))
  const baseUrl = await new Promise<string>((found, failed) => {
    child.once("exit", (code) => failed(new Error(`${program} ended with ${code}`)))
    child.stdout.once("data", (chunk) => found(String(chunk).trim()))
  })
  return {
    baseUrl,
    pid: child.pid ?? 0,
    stop: () => {
      child.kill("SIGKILL")
      return ended
    }
  }
}
