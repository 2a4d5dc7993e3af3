import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { emptyDatabase, hasPostgres } from "../support/Postgres.ts"
import {
  makeClient,
  makeDataDir,
  readCredentials,
  runCommand,
  type Server,
  startServer
} from "../support/Process.ts"

/** An operator who outgrows the embedded database, and one who goes back to it. */
describe("agentd export and import", () => {
  const folder = makeDataDir()
  const scope = Scope.makeUnsafe()
  const first = { AGENTD_DATA_DIR: join(folder.path, "first") }
  // A model that refuses everybody and remembers who asked.
  const askedBy: Array<string | undefined> = []
  const model = createServer((request, response) => {
    askedBy.push(request.headers.authorization)
    response.writeHead(401).end()
  })
  const file = join(folder.path, "all.ndjson")
  let server: Server
  let agent: { readonly id: string }
  let second: Readonly<Record<string, string>>
  const client = () => makeClient(server.baseUrl, readCredentials(first.AGENTD_DATA_DIR).token)
  const workspaceId = () => readCredentials(first.AGENTD_DATA_DIR).workspaceId

  beforeAll(async () => {
    server = await startServer(first)
    agent = (await client().json("POST", "/api/agents", { workspaceId: workspaceId(), name: "moved" })).data
    await client().chat({ workspaceId: workspaceId(), content: "remember me", agentId: agent.id })
    model.listen(0, "127.0.0.1")
    await once(model, "listening")
    const made = await client().request("POST", "/api/provider-keys", {
      workspaceId: workspaceId(),
      name: "k",
      provider: "openai-compatible",
      model: "m",
      apiKey: "sk-very-secret",
      baseUrl: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`
    })
    assert.strictEqual(made.status, 201)
    // Without a PostgreSQL the move is to another embedded database.
    second = hasPostgres
      ? { DATABASE_URL: await Effect.runPromise(Scope.provide(emptyDatabase, scope)) }
      : { AGENTD_DATA_DIR: join(folder.path, "second") }
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    model.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    folder.remove()
  })

  it("exports while the server runs, to a file of its owner or to standard output", async () => {
    const made = await runCommand(first, "export", "--file", file)
    assert.strictEqual(made.code, 0, made.stderr)
    assert.include(made.stderr, "Secrets in them stay sealed")
    assert.strictEqual(made.stdout, "")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    const text = readFileSync(file, "utf8")
    assert.include(text, agent.id)
    assert.notInclude(text, "sk-very-secret")
    assert.strictEqual((await runCommand(first, "export")).stdout, text)
    assert.deepStrictEqual(
      readdirSync(first.AGENTD_DATA_DIR).filter((name) => name.startsWith("export")),
      []
    )
  })

  it("leaves nothing of an export that can't be put where it should go", async () => {
    const taken = join(folder.path, "taken")
    mkdirSync(taken)
    const made = await runCommand(first, "export", "--file", taken)
    assert.strictEqual(made.code, 1)
    assert.include(made.stderr, "can't be handed over")
    assert.isFalse(existsSync(`${taken}.new`))
  })

  it("imports nothing while the server runs, or of a file that is cut off", async () => {
    const running = await runCommand(first, "import", "--file", file)
    assert.strictEqual(running.code, 1)
    assert.include(running.stderr, "stop it")
    const cut = join(folder.path, "cut.ndjson")
    writeFileSync(cut, readFileSync(file).subarray(0, -20))
    const half = await runCommand(second, "import", "--file", cut)
    assert.strictEqual(half.code, 1)
    assert.match(half.stderr, /^agentd: .*(damaged|cut off)/m)
    const none = await runCommand(second, "import", "--file", `${cut}.gone`)
    assert.strictEqual(none.code, 1)
    assert.include(none.stderr, "can't be read")
  })

  it("does not say that it is done when it is told to stop", async () => {
    const child = spawn(process.execPath, ["scripts/agentd.mjs", "import"], {
      cwd: resolve(import.meta.dirname, "../.."),
      env: {
        ...process.env,
        AGENTD_DATA_DIR: join(folder.path, "stopped"),
        AGENTD_ENV_FILE: "/dev/null",
        DATABASE_URL: undefined
      },
      stdio: ["pipe", "ignore", "pipe"]
    })
    await once(child.stderr, "data")
    child.kill("SIGTERM")
    assert.deepStrictEqual(await once(child, "exit"), [130, null])
  })

  it("imports once, and the same token finds everything there", async () => {
    const made = await runCommand(second, "import", "--file", file)
    assert.strictEqual(made.code, 0, made.stderr)
    const again = await runCommand(second, "import", "--file", file)
    assert.strictEqual(again.code, 1)
    assert.include(again.stderr, "is not empty")
    const keyless = await startServer(second).catch(String)
    assert.include(keyless, "the secret of a provider key")
    const key = readFileSync(join(first.AGENTD_DATA_DIR, "secret.key"), "utf8").trim()
    const moved = await startServer({ ...second, AGENTD_SECRET_KEY: key })
    try {
      const there = makeClient(moved.baseUrl, readCredentials(first.AGENTD_DATA_DIR).token)
      assert.deepStrictEqual((await there.json("GET", `/api/agents/${agent.id}`)).data, agent)
      const list = `/api/chat/conversations?workspaceId=${workspaceId()}`
      assert.deepStrictEqual(await there.json("GET", list), await client().json("GET", list))
    } finally {
      await moved.stop("SIGKILL")
    }
  })

  it("goes back into an embedded database, which opens what the first one sealed", async () => {
    const back = { AGENTD_DATA_DIR: join(folder.path, "third") }
    const returned = join(folder.path, "back.ndjson")
    assert.strictEqual((await runCommand(second, "export", "--file", returned)).code, 0)
    mkdirSync(back.AGENTD_DATA_DIR)
    copyFileSync(join(first.AGENTD_DATA_DIR, "secret.key"), join(back.AGENTD_DATA_DIR, "secret.key"))
    const made = await runCommand(back, "import", "--file", returned)
    assert.strictEqual(made.code, 0, made.stderr)
    const rows = (path: string) => readFileSync(path, "utf8").split("\n").sort()
    const third = join(folder.path, "third.ndjson")
    assert.strictEqual((await runCommand(back, "export", "--file", third)).code, 0)
    assert.deepStrictEqual(rows(third), rows(returned))
    const last = await startServer({ ...back, AGENTD_ALLOW_PRIVATE_ADDRESSES: "true" })
    const there = makeClient(last.baseUrl, readCredentials(first.AGENTD_DATA_DIR).token)
    assert.deepStrictEqual((await there.json("GET", `/api/agents/${agent.id}`)).data, agent)
    const keys = await there.json("GET", `/api/provider-keys?workspaceId=${workspaceId()}`)
    const chat = { workspaceId: workspaceId(), content: "hi", providerKeyId: keys.data[0].id }
    assert.strictEqual((await there.chat(chat)).at(-1)?.event, "error")
    assert.deepStrictEqual(askedBy, ["Bearer sk-very-secret"])
    assert.strictEqual(await last.stop("SIGTERM"), 0)
    assert.isFalse(existsSync(join(back.AGENTD_DATA_DIR, "credentials.json")))
  })
})
