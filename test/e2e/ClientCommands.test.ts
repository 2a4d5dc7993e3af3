import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { makeDataDir, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

const root = resolve(import.meta.dirname, "../..")

describe("commands that speak to a running service", () => {
  const folder = makeDataDir()
  const dataDir = folder.path
  let server: Server
  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir })
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    folder.remove()
  })

  const begin = (words: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
    const { AGENTD_TOKEN: _, AGENTD_URL: __, ...own } = process.env
    const child = spawn(
      process.execPath,
      ["--import", "./scripts/require-node.mjs", "scripts/agentd.mjs", ...words],
      { cwd: root, env: { ...own, AGENTD_DATA_DIR: dataDir, AGENTD_ENV_FILE: "/dev/null", ...env } }
    )
    const text = { stdout: "", stderr: "" }
    child.stdout.on("data", (chunk) => {
      text.stdout += chunk
    })
    child.stderr.on("data", (chunk) => {
      text.stderr += chunk
    })
    const code = new Promise<number | null>((done) => child.once("close", done))
    return { child, text, code }
  }
  const agentd = async (words: ReadonlyArray<string>, stdin = "", env?: Readonly<Record<string, string>>) => {
    const { child, code, text } = begin(words, env)
    child.stdin.on("error", () => undefined).end(stdin)
    return { code: await code, ...text }
  }

  it("run prints the id, and with --wait the answer alone on standard output", async () => {
    const sent = await agentd(["run", "hello"])
    assert.match(sent.stdout, /^run_\w+\n$/)
    const answered = await agentd(["run", "-", "--wait"], "call current_time {}")
    assert.strictEqual(answered.code, 0, answered.stderr)
    assert.match(
      answered.stdout,
      /^This is the built-in offline provider[^\n]*\ncurrent_time returned: .*\n$/
    )
    assert.match(answered.stderr, /^> current_time \{\}\n< current_time answered in /)
    assert.match(answered.stderr, /agentd: COMPLETED, .* tokens in, \d+ out, 1 tool call\b/)
    const tailed = await agentd(["tail", sent.stdout.trim()])
    assert.include(tailed.stdout, "You wrote: hello\n")
  })

  it("--json prints each event, and the run at the end", async () => {
    const { code, stdout } = await agentd(["run", "hello", "--wait", "--json"])
    assert.strictEqual(code, 0)
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    assert.deepStrictEqual(
      lines.slice(0, -1).map(({ id }) => id),
      lines.slice(0, -1).map((_, n) => n + 1)
    )
    assert.strictEqual(lines.at(-2)?.event, "done")
    assert.strictEqual(lines.at(-1)?.status, "COMPLETED")
    const rest = await agentd(["tail", lines.at(-1)?.id, "--after", `${lines.length - 2}`, "--json"])
    assert.deepStrictEqual(
      rest.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).event ?? "run"),
      ["done", "run"]
    )
  })

  it("chat sends each line into one conversation", async () => {
    const { code, stderr, stdout } = await agentd(["chat", "--json"], "one\n\ntwo\n")
    assert.strictEqual(code, 0, stderr)
    const told = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === "conversation")
    assert.deepStrictEqual(
      told.map(({ data }) => data.created),
      [true, false]
    )
    assert.strictEqual(told[0].data.conversationId, told[1].data.conversationId)
  })

  it("a run that waits for people ends with 3 and says for which approval", async () => {
    const { code, stderr } = await agentd([
      "run",
      "call current_time {}",
      "--wait",
      "--autonomy",
      "supervised"
    ])
    assert.strictEqual(code, 3)
    assert.match(stderr, /agentd: waits for approval appr_\w+: current_time \{\}/)
  })

  it("say in a sentence what is wrong, and nothing of the token", async () => {
    const wrong = await agentd(["tail", "run_x"], "", { AGENTD_TOKEN: "agentd_secret" })
    assert.deepStrictEqual(
      [wrong.code, wrong.stderr],
      [1, `agentd: ${server.baseUrl} does not accept the token: set AGENTD_TOKEN\n`]
    )
    const nobody = await agentd(["chat", "nobody"])
    assert.deepStrictEqual([nobody.code, nobody.stderr], [1, "agentd: there is no agent called nobody\n"])
    const away = await agentd(["run", "x", "--url", "http://127.0.0.1:9"], "", {
      AGENTD_TOKEN: "t",
      AGENTD_URL: ""
    })
    assert.strictEqual(away.code, 1)
    assert.strictEqual(
      away.stderr,
      "agentd: no service answers at http://127.0.0.1:9: is it running there?\n"
    )
    // The token of the data folder is for its own service alone.
    const other = await agentd(["run", "x", "--url", "http://127.0.0.1:9"])
    assert.strictEqual(other.stderr, "agentd: set AGENTD_TOKEN to a token of http://127.0.0.1:9\n")
  })

  it("who listens for webhooks is told why none arrives, and leaves nothing behind", async () => {
    const { token, workspaceId } = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8"))
    const { child, code, text } = begin(["webhook", "listen", "--port", "0"])
    await until(async () => text.stderr.includes("did not arrive"), "it is told")
    assert.match(
      text.stderr,
      /^agentd: a test was sent and did not arrive: 127\.0\.0\.1 .*AGENTD_ALLOW_PRIVATE_ADDRESSES/m
    )
    child.kill("SIGINT")
    await code
    const answer = await fetch(`${server.baseUrl}/api/webhooks?workspaceId=${workspaceId}`, {
      headers: { authorization: `Bearer ${token}` }
    })
    assert.deepStrictEqual(await answer.json(), { data: [] })
  })

  it("Ctrl-C leaves the run alone and says how to come back", async () => {
    const { token } = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8"))
    const made = await agentd(["run", "call current_time {}", "--wait", "--autonomy", "supervised", "--json"])
    const run = JSON.parse(made.stdout.trim().split("\n").at(-1) ?? "{}")
    assert.strictEqual(run.status, "WAITING_APPROVAL")
    // Past what asks about the approval it stays with the stream.
    const last = JSON.parse(made.stdout.trim().split("\n").at(-2) ?? "{}").id
    const { child, code, text } = begin(["tail", run.id, "--after", `${last}`])
    const open = async () =>
      /agentd_\w*requests_total/.test(await (await fetch(`${server.baseUrl}/metrics`)).text()) &&
      child.exitCode === null
    await until(open, "it reads")
    await new Promise((done) => setTimeout(done, 3_000))
    child.kill("SIGINT")
    assert.strictEqual(await code, 130)
    assert.include(text.stderr, `agentd tail ${run.id}`)
    const answer = await fetch(`${server.baseUrl}/api/runs/${run.id}`, {
      headers: { authorization: `Bearer ${token}` }
    })
    assert.strictEqual(
      ((await answer.json()) as { data: { status: string } }).data.status,
      "WAITING_APPROVAL"
    )
  })
})
