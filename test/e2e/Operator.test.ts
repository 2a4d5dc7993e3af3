import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import { makeClient, makeDataDir, runCommand, type Server, startServer } from "../support/Process.ts"
import { until } from "../support/Until.ts"

type Environment = Readonly<Record<string, string>>

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString("base64")

/** What a command prints with `--json`, which is all of its standard output. */
const json = async (env: Environment, ...words: ReadonlyArray<string>) => {
  const { code, stderr, stdout } = await runCommand(env, ...words, "--json")
  assert.strictEqual(code, 0, stderr)
  return JSON.parse(stdout)
}

const addKeys = async (server: Server, token: string, workspaceId: string, count: number) => {
  for (let n = 0; n < count; n++) {
    const body = { workspaceId, name: `k${n}`, provider: "openai", model: "m", apiKey: `sk-${n}` }
    const made = await makeClient(server.baseUrl, token).request("POST", "/api/provider-keys", body)
    assert.strictEqual(made.status, 201)
  }
}

/** An operator's day, beside a server that runs. */
const suite = (prepare: () => Promise<Environment>, cleanUp: () => Promise<void>) => () => {
  let env: Environment
  let server: Server
  let owner: { readonly token: string; readonly workspaceId: string }
  beforeAll(async () => {
    env = await prepare()
    if (env.DATABASE_URL !== undefined) await json(env, "bootstrap")
    server = await startServer(env)
    const made = await json(env, "token", "create", "--email", "owner@localhost")
    const [workspace] = await json(env, "workspace", "list", "--email", "owner@localhost")
    owner = { token: made.token, workspaceId: workspace.workspaceId }
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    await cleanUp()
  })

  /** At once where the service executes the command itself; else it is told by the database, and knows it in a second. */
  const refused = async (seen: () => Promise<ReadonlyArray<number>>) => {
    const are = async () => (await seen()).every((each) => each === 401)
    if (env.DATABASE_URL === undefined) assert.isTrue(await are())
    else await until(are, "it is refused")
  }

  const status = async (token: string) =>
    (await makeClient(server.baseUrl, token).request("GET", "/api/workspaces")).status

  it("takes a user's access away, gives it back, and lets the user go", async () => {
    const ann = await json(env, "user", "create", "--email", "ann@example.org")
    const client = makeClient(server.baseUrl, ann.token)
    const started = await client.request("POST", "/api/session")
    const [cookie = ""] = (started.headers.get("set-cookie") ?? "").split(";")
    const statusOfSession = async () =>
      (await fetch(`${server.baseUrl}/api/workspaces`, { headers: { cookie } })).status
    const seen = async () => [await status(ann.token), await statusOfSession()]
    assert.deepStrictEqual(await seen(), [200, 200])
    const disabled = await json(env, "user", "disable", "--email", "Ann@example.org")
    assert.deepStrictEqual(Object.keys(disabled), ["userId", "email", "createdAt", "disabledAt"])
    assert.match(disabled.disabledAt, /^\d{4}-.*Z$/u)
    await refused(seen)
    assert.isNull((await json(env, "user", "enable", "--email", ann.email)).disabledAt)
    assert.deepStrictEqual(await seen(), [200, 200])
    const tokens = await json(env, "token", "list", "--email", ann.email)
    assert.deepStrictEqual(
      tokens.map(({ name }: { name: string }) => name),
      ["first", "browser session"]
    )
    assert.strictEqual((await json(env, "token", "revoke", tokens[0].tokenId)).email, ann.email)
    // The session is what that token made.
    await refused(seen)
    const { token: other } = await json(env, "token", "create", "--email", ann.email)
    assert.strictEqual(await status(other), 200)
    assert.strictEqual((await json(env, "user", "delete", "--email", ann.email)).userId, ann.userId)
    await refused(async () => [await status(other)])
    const left = await runCommand(env, "user", "delete", "--email", "owner@localhost")
    assert.deepStrictEqual([left.code, left.stdout], [1, ""])
    assert.include(left.stderr, `is the only owner of ${owner.workspaceId}`)
    assert.strictEqual(await status(owner.token), 200)
  })

  it("signs somebody in by a link, once, of which the log says nothing", async () => {
    const email = "owner@localhost"
    const link = (...words: ReadonlyArray<string>) => json(env, "sign-in-link", "--email", email, ...words)
    const { expiresAt, url } = await link("--base-url", "https://agentd.example/")
    const [, code = ""] = /^https:\/\/agentd\.example\/#\/sign-in\/([\w-]{43})$/u.exec(url) ?? []
    assert.closeTo(Date.parse(expiresAt), Date.now() + 3_600_000, 60_000)
    assert.match((await link()).url, /^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\/[\w-]{43}$/u)
    const signIn = () =>
      fetch(`${server.baseUrl}/api/session/link`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code })
      })
    const answers = await Promise.all(Array.from({ length: 5 }, signIn))
    assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [201, 401, 401, 401, 401])
    const [cookie = ""] = answers.flatMap(({ headers }) => headers.getSetCookie()[0]?.split(";")[0] ?? [])
    const session = await fetch(`${server.baseUrl}/api/session`, { headers: { cookie } })
    const { data } = (await session.json()) as { readonly data: { readonly email: string } }
    assert.strictEqual(data.email, email)
    assert.notInclude(server.stdout() + server.stderr(), code)
    const [, printed = ""] = /\/#\/sign-in\/([\w-]+)/u.exec(server.stdout()) ?? []
    assert.notInclude(server.stderr(), printed === "" ? "/#/sign-in/" : printed)
    const wrong = await runCommand(env, "sign-in-link", "--email", email, "--base-url", "agentd.example")
    assert.deepStrictEqual([wrong.code, wrong.stdout], [1, ""])
    assert.strictEqual((await runCommand(env, "sign-in-link", "--email", "eve@example.org")).code, 1)
  })

  it("shows lists a part at a time, and a table to people", async () => {
    for (const name of ["bob", "eve"]) await json(env, "user", "create", "--email", `${name}@example.org`)
    const first = await runCommand(env, "user", "list", "--limit", "2", "--json")
    const users = JSON.parse(first.stdout)
    assert.strictEqual(first.stderr, `agentd: there are more: --after ${users[1].userId}\n`)
    const rest = await json(env, "user", "list", "--after", users[1].userId)
    assert.deepStrictEqual(
      [...users, ...rest].map(({ email }) => email),
      ["owner@localhost", "bob@example.org", "eve@example.org"]
    )
    const table = await runCommand(env, "workspace", "list")
    assert.match(table.stdout, /^workspaceId +name +plan +createdAt\nws_\S+ +default +free +\S+Z\n$/u)
  })

  it("finds everything well, and a port that another holds", async () => {
    const port = new URL(server.baseUrl).port
    const { checks, status: all } = await json({ ...env, PORT: port }, "doctor")
    assert.strictEqual(all, "ok", JSON.stringify(checks))
    const found = new Map(checks.map(({ check, found }: { check: string; found: string }) => [check, found]))
    assert.include(found.get("port"), "is held by a running agentd")
    assert.include(found.get("schema"), "the latest")
    const wrong = await runCommand({ ...env, AGENTD_MAX_STEPS: "0", PORT: "x" }, "doctor")
    assert.strictEqual(wrong.code, 1)
    assert.match(wrong.stdout, /^fail +settings +PORT must be/mu)
    assert.match(wrong.stdout, /^fail +settings +AGENTD_MAX_STEPS must be/mu)
    assert.match(wrong.stdout, /^ok +database +PostgreSQL/mu)
    assert.strictEqual(
      wrong.stderr,
      `agentd: 2 of ${wrong.stdout.match(/^(ok|warn|fail) /gmu)?.length} checks failed\n`
    )
  })

  it("seals everything with a new key while the service runs", async () => {
    await addKeys(server, owner.token, owner.workspaceId, 3)
    const isRemote = env.DATABASE_URL !== undefined
    const rotated = isRemote ? { ...env, AGENTD_SECRET_KEY: keyOf(8), AGENTD_SECRET_KEYS_OLD: keyOf(7) } : env
    const words = ["secrets", "reseal", ...(isRemote ? [] : ["--new-key"])]
    const none = { current: 0, unreadable: 0, unreadableIds: [] }
    assert.deepStrictEqual(await json(rotated, ...words), { ...none, resealed: 3 })
    assert.deepStrictEqual(await json(rotated, "secrets", "reseal"), { ...none, resealed: 0, current: 3 })
    if (!isRemote) return
    const lost = await runCommand(
      { ...env, AGENTD_ALLOW_LOST_SECRETS: "true" },
      "secrets",
      "reseal",
      "--json"
    )
    assert.strictEqual(lost.code, 1)
    assert.deepInclude(JSON.parse(lost.stdout), { resealed: 0, current: 0, unreadable: 3 })
    const checked = await runCommand(env, "doctor")
    assert.match(checked.stdout, /^fail +secrets +3 of 3 can't be opened: pkey_/mu)
  })

  it("prints nothing on standard output where it was not understood", async () => {
    for (const words of [["usr"], ["token", "revok"], ["user", "list", "--limit", "0"], ["user", "create"]]) {
      const { code, stderr, stdout } = await runCommand(env, ...words, "--json")
      assert.deepStrictEqual([code, stdout], [1, ""], words.join(" "))
      assert.include(stderr, "ERROR")
    }
  })
}

const dataDir = makeDataDir()
describe(
  "an operator on the embedded database",
  suite(
    async () => ({ AGENTD_DATA_DIR: dataDir.path }),
    async () => dataDir.remove()
  )
)

const scope = Scope.makeUnsafe()
const onPostgres = suite(
  async () => ({
    DATABASE_URL: await Effect.runPromise(Scope.provide(emptyDatabase, scope)),
    AGENTD_SECRET_KEY: keyOf(7)
  }),
  () => Effect.runPromise(Scope.close(scope, Exit.void))
)
if (hasPostgres) describe("an operator on PostgreSQL", onPostgres)
else describe.skip(skipped("an operator on PostgreSQL"), onPostgres)

describe("a new key for the embedded database", () => {
  const folder = makeDataDir()
  afterAll(() => folder.remove())
  const env = { AGENTD_DATA_DIR: folder.path, AGENTD_DRAIN_SECONDS: "1" }

  it("is made beside no server, seals everything, and is all that a start needs then", async () => {
    const server = await startServer(env)
    const { token, workspaceId } = JSON.parse(readFileSync(join(folder.path, "credentials.json"), "utf8"))
    await addKeys(server, token, workspaceId, 20)
    await server.stop("SIGTERM")
    const key = () => readFileSync(join(folder.path, "secret.key"), "utf8").trim()
    const first = key()
    const { current, resealed, unreadable } = await json(env, "secrets", "reseal", "--new-key")
    assert.deepStrictEqual([current, resealed, unreadable], [0, 20, 0])
    assert.notStrictEqual(key(), first)
    // What the steps of docs/operations.md end with.
    rmSync(join(folder.path, "secret.keys.old"))
    const { checks, status } = await json(env, "doctor")
    assert.strictEqual(status, "ok", JSON.stringify(checks))
    const again = await startServer(env)
    await again.stop("SIGKILL")
    assert.notInclude(again.stderr(), "can't be opened")
  })
})
