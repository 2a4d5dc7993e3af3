/**
 * What agentd is measured beside, and how it grows: the programs below one after the other, each with its competitor in the
 * same run, and docs/performance.md written anew where they have something to say.
 *
 *   npm run bench [-- [--quick] [--json FOLDER] [--page FILE] [streams] [events] [requests] [runs] [cron] [lists]
 *     [growth]]
 *
 * `--quick` makes each one short, for a look, and writes no page but one that `--page` names, which begins as a copy of
 * docs/performance.md where it is not there. `--json` keeps what the programs wrote. Each has a PostgreSQL of its own (`initdb` and `pg_ctl` in PATH), with fsync and synchronous_commit on; settings of
 * agentd that are in the environment are left out.
 * Exit code 1 if one of them failed or is not there; the others are written all the same.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { hasProgram, removedAtTheEnd, temporaryFolder } from "../test/support/PostgresServer.ts"
import { describe, load } from "./support/About.ts"
import { type Conditions, partOf, replaced } from "./support/Page.ts"
import type { Report } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"
import { reportOf } from "./support/Written.ts"

/** What is run for a name, and with what more where it is to be short. */
interface Program {
  readonly file: string
  readonly words?: ReadonlyArray<string>
  readonly quick: { readonly words?: ReadonlyArray<string>; readonly env?: Readonly<Record<string, string>> }
  /** It needs our server, which has pg_stat_statements; the others start their own. */
  readonly counts?: boolean
}

const programs: Readonly<Record<string, Program>> = {
  streams: { file: "streams.ts", quick: { words: ["--quick"] } },
  events: { file: "events.ts", quick: { words: ["--runs", "50", "--seconds", "5"] } },
  requests: { file: "requests.ts", quick: { words: ["--seconds", "1", "--rounds", "1"] } },
  runs: {
    file: "throughput.ts",
    quick: { env: { THROUGHPUT_RUNS: "200", THROUGHPUT_ROUNDS: "1" } },
    counts: true
  },
  cron: { file: "cron.ts", words: ["burst"], quick: { env: { CRON_BURST: "200" } }, counts: true },
  lists: { file: "manyRuns.ts", quick: { words: ["--rows", "1000,10000", "--seconds", "2"] } },
  growth: { file: "growth.ts", quick: { words: ["--quick"] } }
}
const names = Object.keys(programs)

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    page: { type: "string" }
  }
})
const say = (text: string) => process.stdout.write(`${text}\n`)
const root = resolve(import.meta.dirname, "..")

const unknown = positionals.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  say(`no such part: ${unknown.join(", ")}; there are ${names.join(", ")}`)
  process.exit(1)
}
if (!existsSync(join(import.meta.dirname, "node_modules"))) {
  say("what agentd is measured beside is not installed: npm ci --prefix bench --ignore-scripts")
  process.exit(1)
}
const missing = ["initdb", "pg_ctl"].filter((name) => !hasProgram(name))
if (missing.length > 0) {
  say(`not in the PATH: ${missing.join(", ")}; each part starts a PostgreSQL of its own`)
  process.exit(1)
}
// What a shell has set for a service of its own is neither measured nor touched.
for (const name of Object.keys(process.env)) {
  if (/^(AGENTD_|DATABASE_)|^(HOST|PORT)$/.test(name)) delete process.env[name]
}
const written = join(root, "docs/performance.md")
const page = values.page ?? (values.quick ? undefined : written)
if (page !== undefined && !existsSync(page)) copyFileSync(written, page)

const { url: server } = await openServer("-c shared_preload_libraries=pg_stat_statements")
const folder = values.json ?? temporaryFolder("agentd-bench-json-")
mkdirSync(folder, { recursive: true })
if (values.json === undefined) removedAtTheEnd(() => rmSync(folder, { recursive: true, force: true }))

/** Runs it to its end, and answers what it wrote; what it prints is printed. */
const measure = async (name: string, { counts, file, quick, words = [] }: Program): Promise<Report> => {
  const json = join(folder, `${name}.json`)
  const short = values.quick ? quick : {}
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, file), ...words, ...(short.words ?? []), "--json", json],
    {
      cwd: root,
      env: { ...process.env, ...short.env, ...(counts === true && { DATABASE_URL: server }) },
      stdio: "inherit"
    }
  )
  const remove = removedAtTheEnd(() => child.kill("SIGTERM"))
  const [code] = await once(child, "exit")
  remove()
  if (code !== 0) throw new Error(`bench/${file} ended with ${code}`)
  return reportOf(name, JSON.parse(readFileSync(json, "utf8")))
}

const about = await describe(server)
const write = (name: string, part: string) => {
  if (page !== undefined) writeFileSync(page, replaced(readFileSync(page, "utf8"), name, part))
}

let failures = 0
for (const name of positionals.length === 0 ? names : positionals) {
  const program = programs[name]
  if (program === undefined) continue
  say(`\n## ${name}\n`)
  const [at, loadBefore] = [new Date(), load()]
  try {
    const report = await measure(name, program)
    const words = values.quick ? [name, "--quick"] : [name]
    const conditions: Conditions = {
      ...about,
      command: `npm run bench -- ${words.join(" ")}`,
      at,
      minutes: (Date.now() - at.getTime()) / 60_000,
      loadBefore,
      loadAfter: load()
    }
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify({ ...report, conditions }, null, 2)}\n`)
    write(name, partOf(report, conditions))
  } catch (error) {
    failures++
    say(`${name}: ${error instanceof Error ? error.message : error}`)
  }
}
process.exit(failures === 0 ? 0 : 1)
