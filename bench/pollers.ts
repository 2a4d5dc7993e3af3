/**
 * What pollers of a slow list take from everybody else on the node: how long GET and POST of an agent take without them
 * and with them, and how many are refused. Two servers are asked in turn, of which the second may be of another version.
 *
 *   AGENTD_RATE_PER_MINUTE=0 DATABASE_URL=postgres://… PORT=4666 npm start   # a server on a database with many runs
 *   URL=… TOKEN=… WORKSPACE=… BESIDE_URL=… BESIDE_TOKEN=… BESIDE_WORKSPACE=… node bench/pollers.ts [--json FILE]
 *
 * `POLLERS` (12) poll `LIST` (/api/runs?status=FAILED, slow where no index leads to it), `SECONDS` (10) each time.
 */
import { writeFileSync } from "node:fs"

const { POLLERS = "12", LIST = "/api/runs?status=FAILED&limit=50", SECONDS = "10" } = process.env

interface Target {
  readonly url: string
  readonly token: string
  readonly workspaceId: string
}

const target = (prefix: string): Target => ({
  url: process.env[`${prefix}URL`] ?? "",
  token: process.env[`${prefix}TOKEN`] ?? "",
  workspaceId: process.env[`${prefix}WORKSPACE`] ?? ""
})

const ask = async ({ token, url }: Target, method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: answer.status, text: await answer.text() }
}

/** One after another until the time is over: how long each took, and how many were not answered as they should be. */
const during = async (until: number, work: () => Promise<{ readonly status: number }>) => {
  const millis: Array<number> = []
  let refused = 0
  while (performance.now() < until) {
    const startedAt = performance.now()
    const { status } = await work()
    if (status >= 400) refused++
    millis.push(performance.now() - startedAt)
  }
  return { millis, refused }
}

const measure = async (given: Target, pollers: number) => {
  const until = performance.now() + Number(SECONDS) * 1000
  const { workspaceId } = given
  const made = { workspaceId, name: "A" }
  const { text } = await ask(given, "POST", "/api/agents", made)
  const { id }: { id: string } = JSON.parse(text).data
  const polls = Array.from({ length: pollers }, () =>
    during(until, () => ask(given, "GET", `${LIST}&workspaceId=${workspaceId}`))
  )
  const [gets, posts] = await Promise.all([
    during(until, () => ask(given, "GET", `/api/agents/${id}`)),
    during(until, () => ask(given, "PATCH", `/api/agents/${id}`, { name: "B" }))
  ])
  const polled = await Promise.all(polls)
  const numbers = (of: typeof gets) => {
    const sorted = [...of.millis].sort((one, other) => one - other)
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
    return { count: sorted.length, p50: at(0.5), p99: at(0.99), refused: of.refused }
  }
  const all = { millis: polled.flatMap(({ millis }) => millis), refused: 0 }
  for (const { refused } of polled) all.refused += refused
  return { GET: numbers(gets), PATCH: numbers(posts), list: numbers(all) }
}

const said = ({ count, p50, p99, refused }: Awaited<ReturnType<typeof measure>>["GET"]) =>
  `${count}: p50 ${p50.toFixed(0)}, p99 ${p99.toFixed(0)} ms${refused === 0 ? "" : `, ${refused} refused`}`

const rows = []
for (const pollers of [0, Number(POLLERS)]) {
  const [agentd, beside] = [await measure(target(""), pollers), await measure(target("BESIDE_"), pollers)]
  for (const what of ["GET", "PATCH", "list"] as const) {
    if (what === "list" && pollers === 0) continue
    rows.push({ what: `${what}, ${pollers} pollers`, agentd: agentd[what], beside: beside[what] })
  }
}
process.stdout.write("| what | agentd | beside | ratio |\n| --- | --- | --- | ---: |\n")
for (const { agentd, beside, what } of rows) {
  process.stdout.write(
    `| ${what} | ${said(agentd)} | ${said(beside)} | ${(beside.p50 / agentd.p50).toFixed(2)} |\n`
  )
}
const [, file] = process.argv.slice(2)
if (process.argv[2] === "--json" && file !== undefined) writeFileSync(file, JSON.stringify(rows, null, 2))
