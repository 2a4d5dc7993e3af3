/**
 * For how long one request holds the event loop of a server: the worst bodies, queries and headers for every
 * endpoint, and the largest answers, one after another, against a server of its own in another process.
 *
 *   node bench/loop.ts [--all] [--answers]
 *
 * `--answers` measures the answers alone.
 * Prints what took over 5 ms, or with `--all` everything: the least of three runs, in milliseconds of CPU time.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Embedded from "../src/Layers/Repo/Postgres/Embedded.ts"
import { seedAnswers, worstAnswers } from "../test/support/WorstAnswers.ts"
import {
  baseBody,
  type WorstRequest,
  worstBodies,
  worstHeads,
  worstLongTexts,
  worstSchedules
} from "../test/support/WorstRequests.ts"

const runs = 3
const shown = process.argv.includes("--all") ? 0 : 5

const folder = mkdtempSync(join(tmpdir(), "agentd-loop-"))

const start = async () => {
  const server = spawn(
    process.execPath,
    ["--import", "./bench/support/ReportTurns.ts", "scripts/start.mjs"],
    {
      env: { ...process.env, PORT: "0", AGENTD_DATA_DIR: folder, AGENTD_DRAIN_SECONDS: "1" },
      stdio: ["ignore", "pipe", "inherit", "ipc"]
    }
  )
  const listening = Promise.withResolvers<string>()
  let out = ""
  server.stdout?.on("data", (chunk) => {
    out += chunk
    const [, url] = /^agentd listening on (\S+)$/m.exec(out) ?? []
    if (url !== undefined) listening.resolve(url)
  })
  server.once("exit", (code) => listening.reject(new Error(`the server ended with ${code}`)))
  return { server, baseUrl: await listening.promise }
}

let { baseUrl, server } = await start()
process.once("exit", () => {
  server.kill("SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})
const { token, userId, workspaceId } = JSON.parse(readFileSync(join(folder, "credentials.json"), "utf8"))

/** The longest turn of the server's event loop since the last question. */
const longestTurn = async (): Promise<number> => {
  server.send("?")
  const [millis] = await once(server, "message")
  return Number(millis)
}

const agent = new Agent({ keepAlive: true })

const send = ({ body: given, headers, method, path }: Omit<WorstRequest, "name">) => {
  const body = given?.()
  return new Promise<{ readonly status: number; readonly text: string }>((answered) => {
    const sent = request(`${baseUrl}${path}`, {
      method,
      agent,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body)
        }),
        ...headers
      }
    })
    sent.once("response", (response) => {
      let text = ""
      let bytes = 0
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length
        if (text.length < 10_000) text += chunk.toString()
      })
      response.once("close", () =>
        answered({
          status: response.statusCode ?? 0,
          text: bytes < 1_000_000 ? text : `${(bytes / 1_000_000).toFixed(1)} MB`
        })
      )
    })
    // What is refused before it is read may end with its connection.
    sent.once("error", (error) => answered({ status: 0, text: error.message }))
    sent.end(body)
  })
}

const print = (...cells: ReadonlyArray<string | number>) => process.stdout.write(`| ${cells.join(" | ")} |\n`)

const create = async (path: string): Promise<string> => {
  const { text } = await send({ method: "POST", path, body: () => JSON.stringify(baseBody(workspaceId)) })
  return JSON.parse(text).data.id
}

const resources = {
  "/api/agents": await create("/api/agents"),
  "/api/connectors": await create("/api/connectors"),
  "/api/cron-jobs": await create("/api/cron-jobs"),
  "/api/workspaces": workspaceId
}
/** As many chunks as a body may have bytes, each of one. */
const sendInBytes = (path: string, bytes: number) =>
  new Promise<{ readonly status: number; readonly text: string }>((answered) => {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname)
    let text = ""
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    socket.once("error", () => {})
    socket.once("close", () =>
      answered({ status: Number(text.split(" ")[1] ?? 0), text: text.split("\r\n\r\n")[1] ?? "" })
    )
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n` +
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    socket.write(`${"1\r\n \r\n".repeat(bytes)}0\r\n\r\n`)
  })

const requests: ReadonlyArray<WorstRequest> = process.argv.includes("--answers")
  ? []
  : [
      ...worstHeads(workspaceId, resources),
      ...worstSchedules,
      ...worstLongTexts(workspaceId, resources),
      ...worstBodies(workspaceId, resources, true)
    ]
print("request", "ms of the event loop", "answer")
print("---", "---:", "---")
let worst = 0
let over = 0

const measure = async (name: string, ask: () => ReturnType<typeof send>) => {
  let least = Number.POSITIVE_INFINITY
  let answer = ""
  for (let run = 0; run < runs && least >= shown; run++) {
    await longestTurn()
    const { status, text } = await ask()
    least = Math.min(least, await longestTurn())
    answer = `${status} ${text.replace(/\s+/gu, " ").slice(0, 100)}`
  }
  worst = Math.max(worst, least)
  if (least > 20) over++
  if (least >= shown) print(name, least.toFixed(1), answer)
}

for (const [path, bytes] of [
  ["/api/chat/memory", 1024 * 1024],
  ["/api/chat/memory", 2 * 1024 * 1024],
  ["/api/projects", 64 * 1024],
  ["/api/projects", 1024 * 1024]
] as const) {
  await measure(`${path}: ${bytes / 1024} KiB in chunks of one byte`, () => sendInBytes(path, bytes))
}
for (const given of requests) await measure(given.name, () => send(given))

/** Where nobody has to send what is answered. */
const seedAndStartAgain = async () => {
  server.kill("SIGTERM")
  await once(server, "exit")
  await Effect.runPromise(
    Effect.provide(seedAnswers(workspaceId, userId, 80_000), Embedded.layerAsItIs(folder), { local: true })
  )
  ;({ baseUrl, server } = await start())
}

await seedAndStartAgain()
const answers = worstAnswers(workspaceId)
for (const given of answers) {
  await measure(given.name, () => send(given))
  const packed = { ...given, headers: { "accept-encoding": "gzip" } }
  await measure(`${given.name}, compressed`, () => send(packed))
}
print(
  `the worst of ${requests.length + 4 + 2 * answers.length}, ${over} of them over 20 ms`,
  worst.toFixed(1),
  ""
)
server.kill("SIGTERM")
agent.destroy()
