import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { cpus, loadavg, release, totalmem } from "node:os"
import { join } from "node:path"
import { onDatabase } from "../../test/support/Durability.ts"

const root = join(import.meta.dirname, "../..")

/** Of this checkout; nothing where it is none. */
const commit = () =>
  spawnSync("git", ["describe", "--always", "--dirty"], { cwd: root }).stdout.toString().trim()

const schema = () =>
  readdirSync(join(root, "src/Layers/Repo/Postgres/migrations"))
    .map((file) => Number.parseInt(file, 10))
    .reduce((one, other) => Math.max(one, other), 0)

const beside = () => {
  const { dependencies }: { dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, "bench/package.json"), "utf8")
  )
  return Object.entries(dependencies)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")
}

/** What a number depends on: the machine, the versions, and how durable PostgreSQL is told to be. */
export const describe = async (server: string) => {
  const [about] = await onDatabase(
    `${server}/postgres`,
    (sql) => sql<{ version: string; fsync: string; commit: string; buffers: string }>`
      select current_setting('server_version') as version, current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as commit, current_setting('shared_buffers') as buffers`
  )
  return {
    commit: commit(),
    machine:
      `${cpus().length} × ${cpus()[0]?.model.trim()}, ${(totalmem() / 1024 ** 3).toFixed(0)} GiB, ` +
      `${process.platform} ${release()}`,
    versions: `Node.js ${process.versions.node}, PostgreSQL ${about?.version}, schema ${schema()}; ${beside()}`,
    durability: `fsync ${about?.fsync}, synchronous_commit ${about?.commit}, shared_buffers ${about?.buffers}`
  }
}

export type About = Awaited<ReturnType<typeof describe>>

/** The load of the machine in the last minute: what runs or wants to. */
export const load = (): number => loadavg()[0] ?? Number.NaN
