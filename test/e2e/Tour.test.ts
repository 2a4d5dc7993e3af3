import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Api } from "../../src/Api/Api.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

const root = resolve(import.meta.dirname, "../..")
const tour = readFileSync(resolve(root, "docs/tour.md"), "utf8")
const [readmeChat = ""] =
  /^curl -N \$URL\/api\/chat\/messages [^`]*/m.exec(readFileSync(resolve(root, "README.md"), "utf8")) ?? []

/** The commands of the tour, each with the output that follows them in the text. */
const steps = Array.from(
  tour.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)^```\n)?/gm),
  ([, commands = "", output]) => ({ commands, output })
)

/** `…` stands for anything but the end of a line. */
const pattern = (output: string) =>
  new RegExp(`^${output.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("…", "[^\\n]*?")}$`)

const marker = "=== end of a step of the tour ==="

/** Runs them in one shell, so that what one sets the next can use. */
const run = (commands: ReadonlyArray<string>, env: NodeJS.ProcessEnv) =>
  new Promise<{ readonly outputs: ReadonlyArray<string>; readonly log: string }>((done) => {
    const shell = spawn("bash", ["-s"], { cwd: root, env: { ...process.env, ...env } })
    let stdout = ""
    let log = ""
    shell.stdout.on("data", (chunk) => {
      stdout += chunk
    })
    shell.stderr.on("data", (chunk) => {
      log += chunk
    })
    shell.once("close", (code) =>
      done({ outputs: stdout.replaceAll("\r", "").split(`${marker}\n`), log: `${log}\nended with ${code}` })
    )
    shell.stdin.end(`set -e\n${commands.map((command) => `${command}echo "${marker}"\n`).join("")}`)
  })

/** What a workspace has that can be removed. */
const kinds = [
  "agents",
  "provider-keys",
  "cron-jobs",
  "connectors",
  "chat/memory",
  "chat/conversations",
  "webhooks"
]

describe("docs/tour.md", () => {
  const dataDir = makeDataDir()
  let server: Server
  let outputs: ReadonlyArray<string> = []
  let log = ""
  let after = ""

  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
    const { token, workspaceId } = readCredentials(dataDir.path)
    const env = { URL: server.baseUrl, TOKEN: token, WORKSPACE: workspaceId, AGENTD_DATA_DIR: dataDir.path }
    const ran = await run(
      steps.map(({ commands }) => commands),
      env
    )
    outputs = ran.outputs
    log = ran.log
    const lists = kinds.map(
      (kind) =>
        `curl -sS "$URL/api/${kind}?workspaceId=$WORKSPACE" -H "Authorization: Bearer $TOKEN"; echo " ${kind}"\n`
    )
    after = (await run([...lists, readmeChat], env)).outputs.join("")
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    dataDir.remove()
  })

  it("calls every endpoint", () => {
    assert.isAbove(steps.length, 15)
    const missing = Object.values(Api.groups)
      .flatMap((group) => Object.values(group.endpoints))
      .filter(({ method, path }) => {
        const address = path.replace(/:\w+/g, "\\$$\\w+")
        const plain =
          method === "GET" && path.startsWith("/health") ? "curl -sS \\$URL" : `-X ${method} \\$URL`
        const call = new RegExp(`(?:${plain}|api ${method} "?)${address}(?=[?"\\s;])`)
        return !steps.some(({ commands }) => call.test(commands))
      })
    assert.deepStrictEqual(
      missing.map(({ method, path }) => `${method} ${path}`),
      []
    )
  })

  it("runs to its end", () => {
    assert.strictEqual(outputs.length, steps.length + 1, log)
    assert.include(log, "ended with 0")
  })

  it("leaves the workspace as it found it, and its chat answering", () => {
    assert.deepStrictEqual(
      after.split("\n").slice(0, kinds.length),
      kinds.map((kind) => `{"data":[]} ${kind}`)
    )
    assert.match(after, /^event: conversation$[\s\S]*^event: done\ndata: .*recall returned/m)
    assert.notInclude(after, "event: error")
  })

  for (const [index, { commands, output }] of steps.entries()) {
    it(`prints what it says: ${commands.split("\n")[0]}`, () => {
      const actual = outputs[index] ?? log
      assert.match(actual, pattern(output ?? "no output is written down"), commands)
    })
  }
})
