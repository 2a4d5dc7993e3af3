/**
 * How time, statements and buffers grow with what there is: runs that are stored, queued and parked, workspaces, messages of
 * a conversation, events of a run, agents, cron jobs and memory entries; and with nodes.
 *
 *   node bench/growth.ts [--quick] [--times N] [--json FILE] [stored] [queued] [parked] [workspaces] [messages]
 *     [conversations] [events] [resources] [nodes]
 *
 * Each size has a database of its own, filled by SQL, and a node; each operation is done N times (30), at one size after the
 * other in turn. It brings its own PostgreSQL (`initdb` and `pg_ctl` in PATH) with fsync on. What of an operation grows is
 * told with the statement behind it; statements, buffers, and the processors' time are what it takes beyond what a node does
 * with nothing to do. The table's lines have a size beside the one before it.
 */
import { parseArgs } from "node:util"
import { find } from "./support/Growth.ts"
import { parkedRuns, queuedRuns, workspaces } from "./support/growth/Backlogs.ts"
import { longConversations, longStreams, storedConversations } from "./support/growth/Conversations.ts"
import { measureNodes } from "./support/growth/Nodes.ts"
import { resources } from "./support/growth/Resources.ts"
import { storedRuns } from "./support/growth/StoredRuns.ts"
import { startHeldModel } from "./support/HeldModel.ts"
import { median } from "./support/Laws.ts"
import { cellsOf, type Found, headOf, tablesOf } from "./support/LawTables.ts"
import { head, line, type Measured, type Row, rowHead, rowLine, save, toRow } from "./support/Report.ts"
import { openServer } from "./support/Server.ts"
import { prepareObserver } from "./support/Site.ts"

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    times: { type: "string" },
    json: { type: "string" }
  }
})
const times = Number(values.times ?? (values.quick ? 8 : 30))
const note = (text: string) => process.stderr.write(`${text}\n`)

const model = await startHeldModel(1)
const laws = {
  stored: storedRuns,
  queued: queuedRuns,
  parked: parkedRuns,
  workspaces,
  messages: longConversations(model.env),
  conversations: storedConversations,
  events: longStreams,
  resources
}
const names = [...Object.keys(laws), "nodes"]
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(", ")}; there are ${names.join(", ")}`)
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name)
const print = (text: string) => process.stdout.write(`${text}\n`)

/** A size beside the one before it. */
const rowsOf = ({ grows, law, of, samples, what, worst }: Found): ReadonlyArray<Row> =>
  samples.slice(1).map(({ millis, size }, n) => {
    const before = samples[n] ?? { millis, size }
    const sizes = `${size.toLocaleString("en")} ${of} beside ${before.size.toLocaleString("en")}`
    const measured: Measured = {
      what: `${law}: ${what}, ${sizes}`,
      agentd: median(millis),
      beside: median(before.millis),
      unit: "ms p50",
      note: grows.length === 0 ? undefined : `grows: ${grows.join(", ")}; ${worst}`
    }
    return toRow(measured)
  })

const { url: server } = await openServer(
  "-c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.max=20000"
)
await prepareObserver(server)
const all: Array<Found> = []
const rows: Array<Row> = []
for (const [name, law] of Object.entries(laws)) {
  if (!isWanted(name)) continue
  let isFirst = true
  print(`\n${law.name}\n`)
  await find(server, law, { isQuick: values.quick, times, note }, (found) => {
    if (isFirst) print(head(...headOf(found)))
    isFirst = false
    print(line(...cellsOf(found)))
    all.push(found)
    rows.push(...rowsOf(found))
  })
  for (const { law: of, what, worst } of all) {
    if (of === law.name && worst !== undefined) print(`\n${what}: ${worst}`)
  }
}
if (isWanted("nodes")) {
  print(`\nnodes\n\n${rowHead}`)
  for (const measured of await measureNodes(
    server,
    values.quick ? [1, 2] : [1, 2, 4],
    values.quick ? 100 : 600
  )) {
    rows.push(toRow(measured))
    print(rowLine(toRow(measured)))
  }
}
save({ name: "growth", rows, tables: tablesOf(all) }, values.json)
model.close()
process.exit(0)
