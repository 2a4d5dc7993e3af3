/**
 * What runs are measured beside: an HTTP POST adds a job to graphile-worker, and the job inserts three rows, one after
 * another. Started with DATABASE_URL; writes the address that it listens on.
 */
import { createServer } from "node:http"
import { Logger, makeWorkerUtils, run } from "graphile-worker"
import pg from "pg"

const concurrency = Number(process.env.CONCURRENCY ?? 64)
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.POOL ?? 20)
})
// It comes with no other, and asks for both.
pool.on("error", () => {})
pool.on("connect", (client) => client.on("error", () => {}))
const logger = new Logger(() => () => {})
const utils = await makeWorkerUtils({ pgPool: pool, logger })
await utils.migrate()
await pool.query(`create table if not exists step_rows (
  run_id text not null, index integer not null, step jsonb not null, primary key (run_id, index))`)
await run({
  pgPool: pool,
  concurrency,
  logger,
  noHandleSignals: true,
  taskList: {
    work: async ({ prompt }, { job }) => {
      for (const index of [0, 1, 2]) {
        await pool.query({
          name: "step",
          text: "insert into step_rows (run_id, index, step) values ($1, $2, $3)",
          values: [job.id, index, { type: "tool", result: prompt }]
        })
      }
    }
  }
})

const server = createServer((request, response) => {
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", async () => {
    try {
      const { id } = await utils.addJob("work", JSON.parse(Buffer.concat(chunks).toString()))
      response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ data: { id } }))
    } catch {
      response.writeHead(500).end()
    }
  })
})
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () =>
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`)
)
