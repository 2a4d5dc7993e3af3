import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { databaseWith, hasPostgres, skipped } from "../support/Postgres.ts"
import { makeClient, makeDataDir, readCredentials, runCommand, startServer } from "../support/Process.ts"

const commands = [
  ["serve"],
  ["migrate"],
  ["bootstrap"],
  ["export"],
  ["user", "create", "--email", "a@example.org"]
]

/** Every command says the same sentence and nothing else, with exit code 1. */
const refuseAll = async (
  env: Readonly<Record<string, string>>,
  sentence: RegExp,
  tried: ReadonlyArray<ReadonlyArray<string>> = commands
) => {
  for (const words of tried) {
    const { code, stderr, stdout } = await runCommand(env, ...words)
    assert.strictEqual(code, 1, words.join(" "))
    assert.match(stderr, sentence, words.join(" "))
    assert.match(stderr, /^agentd: [^\n]+\n$/u, words.join(" "))
    assert.strictEqual(stdout, "", words.join(" "))
  }
}

describe("a start that can't succeed", () => {
  const dataDir = makeDataDir()
  afterAll(() => dataDir.remove())

  it("leaves a folder of somebody as it is", async () => {
    const path = join(dataDir.path, "foreign")
    mkdirSync(path, { mode: 0o755 })
    writeFileSync(join(path, "credentials.json"), "{}")
    const before = statSync(path).mode
    await refuseAll({ AGENTD_DATA_DIR: path }, /is not empty \(credentials\.json is in it\)/u)
    assert.strictEqual(statSync(path).mode, before)
    assert.deepStrictEqual(readdirSync(path), ["credentials.json"])
  })

  it.skipIf(!existsSync("/proc/self"))("ends where no folder can be made", () =>
    refuseAll(
      { AGENTD_DATA_DIR: "/proc/x" },
      /\/proc\/x can't be made: ENOENT/u,
      commands.filter(([name]) => name !== "export")
    )
  )

  it("is made by no command that only reads: a mistyped path leaves no database behind", async () => {
    const path = join(dataDir.path, "mistyped")
    const env = { AGENTD_DATA_DIR: path }
    const reading = [["export"], ["user", "list"], ["token", "revoke", "token_1"], ["secrets", "reseal"]]
    await refuseAll(env, /^agentd: there is no database in \S+mistyped: npm start makes one/u, reading)
    assert.isFalse(existsSync(path))
  })

  it("makes no database when another setting is a mistake", async () => {
    const path = join(dataDir.path, "none")
    const { code, stderr } = await runCommand({ AGENTD_DATA_DIR: path, PORT: "1e3" }, "serve")
    assert.deepStrictEqual([code, stderr], [1, "agentd: PORT must be a whole number from 0 to 65535\n"])
    assert.isFalse(existsSync(path))
  })

  it("is one whose file of settings is a mistake, or is not there; the environment wins over it", async () => {
    const file = join(dataDir.path, "settings.env")
    writeFileSync(file, "PORT=1e3\nAGENTD_DATA_DIR=' '\n")
    const env = { AGENTD_ENV_FILE: file, DATABASE_URL: "foo" }
    const form = "DATABASE_URL must look like postgres://user:password@host:5432/database"
    const blank = "AGENTD_DATA_DIR must not be white space"
    const own = await runCommand({ ...env, PORT: "0" }, "migrate")
    assert.deepStrictEqual([own.code, own.stderr], [1, `agentd: ${form}; ${blank}\n`])
    const gone = await runCommand({ AGENTD_ENV_FILE: `${file}.gone` }, "migrate")
    assert.strictEqual(gone.code, 1)
    assert.match(gone.stderr, /^agentd: the settings in \S+\.gone can't be read: ENOENT[^\n]*\n$/u)
  })

  it("names the setting that a misspelt one is near to, and every other mistake, in one sentence", () =>
    refuseAll(
      { AGENTD_DATA_DRI: dataDir.path, DATABASE_URL: "foo" },
      /^agentd: DATABASE_URL must look like postgres:\S+; AGENTD_DATA_DRI is no setting: did you mean AGENTD_DATA_DIR\?\n$/u
    ))

  it("says of an address, also in the bundle, that a percent sign has to be written otherwise", () =>
    refuseAll(
      { DATABASE_URL: "postgres://u:top%canary@h/db", AGENTD_SECRET_KEY: "abc" },
      /^agentd: DATABASE_URL must write a percent sign as %25[^;]*; AGENTD_SECRET_KEY must be 32 bytes in base64/u
    ))

  it("says before anything else what is wrong about how to log", async () => {
    const path = join(dataDir.path, "log")
    const { code, stderr } = await runCommand({ AGENTD_DATA_DIR: path, AGENTD_LOG_LEVEL: "loud" }, "serve")
    const sentence = "agentd: AGENTD_LOG_LEVEL must be one of trace, debug, info, warn, error\n"
    assert.deepStrictEqual([code, stderr], [1, sentence])
    assert.isFalse(existsSync(path))
  })

  it("repeats the password of a database nowhere, at every level of the log", async () => {
    for (const address of ["agentd:canary-41c9@127.0.0.1:1/agentd", "agentd:canary-41c9@[::1]:1/canary"]) {
      const env = { DATABASE_URL: `postgres://${address}`, AGENTD_LOG_LEVEL: "trace" }
      const { code, stderr, stdout } = await runCommand(env, "migrate")
      assert.strictEqual(code, 1)
      assert.include(stderr, "the database of DATABASE_URL can't be used")
      assert.notInclude(stderr + stdout, "canary-41c9")
    }
  })

  const name = "ends on a database in LATIN1"
  it.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), async () => {
    const scope = Scope.makeUnsafe()
    const url = await Effect.runPromise(Scope.provide(databaseWith("encoding 'LATIN1' locale 'C'"), scope))
    await refuseAll({ DATABASE_URL: url }, /has the encoding LATIN1, and agentd needs UTF8/u)
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })
})

describe("the log of a service", () => {
  const dataDir = makeDataDir()
  afterAll(() => dataDir.remove())

  it("is one JSON object a line where nobody reads along, and has the end", async () => {
    const server = await startServer({ AGENTD_DATA_DIR: dataDir.path, AGENTD_LOG_LEVEL: "debug" })
    const headers = { "x-request-id": "from-outside" }
    assert.strictEqual((await fetch(`${server.baseUrl}/api/agents?token=canary`, { headers })).status, 401)
    const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
    assert.include(metrics, "process_cpu_seconds_total")
    assert.strictEqual(await server.stop("SIGTERM"), 0)
    const entries = server
      .stderr()
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("agentd: "))
      .map((line) => JSON.parse(line))
    const own = entries.filter(({ requestId }) => requestId === "from-outside")
    assert.deepStrictEqual(
      own.map(({ level, message, path, status }) => [level, message, path, status]),
      [
        ["DEBUG", "a request was answered", "/api/agents", 401],
        ["INFO", "a request was refused", "/api/agents", 401]
      ]
    )
    assert.isTrue(entries.some(({ message }) => message === "stopping"))
    assert.notInclude(server.stderr(), "canary")
  })

  it("is written for people where that is asked for", async () => {
    const env = { AGENTD_DATA_DIR: dataDir.path, AGENTD_LOG_FORMAT: "logfmt" }
    const server = await startServer(env)
    assert.strictEqual(await server.stop("SIGTERM"), 0)
    assert.match(server.stderr(), /^timestamp=\S+ level=INFO fiber=#\d+ message=stopping$/mu)
  })
})

describe("a first start that is killed", () => {
  const dataDir = makeDataDir()
  afterAll(() => dataDir.remove())

  /** The service, killed as soon as a file is in its folder. */
  const killedAt = async (path: string, file: string) => {
    const child = spawn(process.execPath, ["scripts/start.mjs"], {
      cwd: resolve(import.meta.dirname, "../.."),
      env: {
        ...process.env,
        AGENTD_DATA_DIR: path,
        AGENTD_ENV_FILE: "/dev/null",
        PORT: "0",
        DATABASE_URL: undefined
      },
      stdio: "ignore"
    })
    const ended = once(child, "exit")
    const looking = setInterval(() => {
      if (existsSync(join(path, file))) child.kill("SIGKILL")
    }, 1)
    await ended
    clearInterval(looking)
  }

  it.each(["lock.db", "postgres.new", "secret.key", "credentials.json.new"])(
    "at its %s is followed by one that works",
    async (file) => {
      const path = join(dataDir.path, file)
      await killedAt(path, file)
      const server = await startServer({ AGENTD_DATA_DIR: path })
      const { token, workspaceId } = readCredentials(path)
      const client = makeClient(server.baseUrl, token)
      assert.strictEqual((await client.request("GET", `/api/agents?workspaceId=${workspaceId}`)).status, 200)
      assert.isFalse(existsSync(join(path, "credentials.json.new")))
      await server.stop("SIGKILL")
      rmSync(path, { recursive: true, force: true })
    }
  )
})
