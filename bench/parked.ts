/**
 * What it costs to have many runs wait for people: memory and CPU of two nodes with 1,500 of them, and how long
 * these take when all are approved.
 *
 *   [DATABASE_URL=postgres://postgres@127.0.0.1:5566] node bench/parked.ts
 *
 * It brings its own PostgreSQL where none is given, and makes a database of its own there.
 */
import { randomBytes } from "node:crypto"
import {
  makeAccount,
  makeNodes,
  onDatabase,
  startModel,
  startTools,
  statusCounts,
  untilIdle
} from "../test/support/Durability.ts"
import { resting } from "./support/Processes.ts"
import { openServer } from "./support/Server.ts"

const count = 1_500
const limitMillis = 300_000

const print = (...cells: ReadonlyArray<string>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)
const seconds = (since: number) => `${((Date.now() - since) / 1000).toFixed(1)} s`
const statuses = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([status, n]) => `${n} ${status}`)
    .join(", ")

const { url: server } = await openServer()
const name = `bench_${randomBytes(6).toString("hex")}`
await onDatabase(`${server}/postgres`, (sql) => sql`create database ${sql(name)}`)
const url = `${server}/${name}`
const model = await startModel(20)
const tools = await startTools(5)
const nodes = makeNodes(url, model.env, { AGENTD_RUNS_PER_WORKSPACE: "32" })
await Promise.all([nodes.start(0), nodes.start(1)])
const { client, submit, workspaceId } = await makeAccount(url, nodes, tools.url)

print("before", await resting(), "")
const began = Date.now()
for (let first = 1; first <= count; first += 20) {
  const jobs = Array.from({ length: 20 }, (_, n) => first + n)
  await Promise.all(jobs.map((job) => submit(job % 2, `job ${job} write`, "semi-autonomous")))
}
await untilIdle(url, limitMillis)
print("parked", statuses(await statusCounts(url)), seconds(began))
print("waiting", await resting(), "")

const approving = Date.now()
let approved = 0
while (approved < count) {
  const { data } = await client(0).json("GET", `/api/approvals?workspaceId=${workspaceId}&limit=100`)
  if (data.length === 0) break
  const answers = await Promise.all(
    data.map(({ id }: { id: string }, n: number) =>
      client(n % 2).request("POST", `/api/approvals/${id}`, { decision: "approve" })
    )
  )
  approved += answers.filter(({ status }) => status === 200).length
}
print("approved", String(approved), seconds(approving))
await untilIdle(url, limitMillis)
print("over", statuses(await statusCounts(url)), seconds(approving))
print("after", await resting(), "")

await nodes.stopAll()
await onDatabase(`${server}/postgres`, (sql) => sql`drop database if exists ${sql(name)} with (force)`)
process.exit(0)
