import { statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import {
  makeClient,
  makeDataDir,
  parseEvents,
  readCredentials,
  runCommand,
  type Server,
  startServer
} from "../support/Process.ts"
import { until } from "../support/Until.ts"

/** The newcomer's path: a real process on an empty folder, stopped in every way, and started again. */
describe("the service on the embedded database", () => {
  const dataDir = makeDataDir()
  const env = { AGENTD_DATA_DIR: dataDir.path, AGENTD_DRAIN_SECONDS: "2" }
  let server: Server
  beforeAll(async () => {
    server = await startServer(env)
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    dataDir.remove()
  })
  const client = () => makeClient(server.baseUrl, readCredentials(dataDir.path).token)
  const workspace = () => readCredentials(dataDir.path).workspaceId

  it("makes credentials on the first start and prints a line to paste", async () => {
    const credentials = readCredentials(dataDir.path)
    assert.deepStrictEqual(Object.keys(credentials), ["baseUrl", "userId", "workspaceId", "token"])
    assert.strictEqual(credentials.baseUrl, server.baseUrl)
    assert.strictEqual(statSync(join(dataDir.path, "credentials.json")).mode & 0o777, 0o600)
    assert.strictEqual(statSync(dataDir.path).mode & 0o777, 0o700)
    assert.strictEqual(server.stdout().match(/^agentd listening on /gm)?.length, 1)
    const [, url, token, body] =
      /curl -N (\S+) -H 'Authorization: Bearer (\S+)' .* -d '(.*)'$/m.exec(server.stdout()) ?? []
    assert.include(server.stdout(), `${server.baseUrl}/docs`)
    assert.include(server.stdout(), "offline provider answers")
    const answer = await fetch(url ?? "", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body ?? ""
    })
    const events = parseEvents(await answer.text())
    assert.strictEqual(events[0]?.event, "conversation")
    assert.strictEqual(events.at(-1)?.event, "done")
  })

  it("answers 30 chats at once, every one to its end", async () => {
    const streams = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        client().chat({
          workspaceId: workspace(),
          content: `chat ${n}\ncall remember {"key":"k${n}","value":"v${n}"}\ncall recall {"query":"k${n}"}`
        })
      )
    )
    for (const events of streams) {
      assert.strictEqual(events.at(-1)?.event, "done")
      assert.deepStrictEqual(
        events.map(({ id }) => id),
        events.map((_, index) => index + 1)
      )
    }
  })

  it("executes a task in the background", async () => {
    const { data } = await client().json("POST", "/api/tasks", { workspaceId: workspace(), prompt: "work" })
    assert.strictEqual(data.status, "PENDING")
    let run = data
    while (run.status === "PENDING" || run.status === "RUNNING") {
      const { data: runs } = await client().json("GET", `/api/runs?workspaceId=${workspace()}`)
      run = runs.find((candidate: { id: string }) => candidate.id === data.id)
    }
    assert.strictEqual(run.status, "COMPLETED")
    assert.include(run.output, "You wrote: work")
  })

  it("refuses a body over the limit of its endpoint, by its length or without one, and lives on", async () => {
    const headers = {
      authorization: `Bearer ${readCredentials(dataDir.path).token}`,
      "content-type": "application/json"
    }
    for (const [path, bytes, limit] of [
      ["/api/agents", 1_100_000, "1 MiB"],
      ["/api/projects", 70_000, "64 KiB"]
    ] as const) {
      const big = JSON.stringify({ workspaceId: workspace(), name: "x".repeat(bytes) })
      const chunks = new ReadableStream({
        start: (controller) => {
          for (let at = 0; at < big.length; at += 65_536)
            controller.enqueue(Buffer.from(big.slice(at, at + 65_536)))
          controller.close()
        }
      })
      for (const body of [big, chunks]) {
        const answer = await fetch(`${server.baseUrl}${path}`, {
          method: "POST",
          headers,
          body,
          duplex: "half"
        } as RequestInit)
        assert.strictEqual(answer.status, 413)
        assert.strictEqual(answer.headers.get("x-error-code"), "payload_too_large")
        const error = `the request body is larger than ${limit}`
        assert.deepStrictEqual(await answer.json(), { error })
      }
    }
    assert.strictEqual((await fetch(`${server.baseUrl}/health/ready`)).status, 200)
  })

  it("answers what is no HTTP with a 400 in the same form", async () => {
    const { port } = new URL(server.baseUrl)
    const answer = await new Promise<string>((done) => {
      let text = ""
      const socket = connect(Number(port), "127.0.0.1", () => socket.write("NOT HTTP\r\n\r\n"))
      socket.on("data", (chunk) => {
        text += chunk
      })
      socket.on("close", () => done(text))
    })
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /\{"error":"[^"]+"\}$/)
  })

  it("serves its documentation without a credential", async () => {
    const openapi = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as { openapi: string }
    assert.match(openapi.openapi, /^3\.1/)
    assert.strictEqual((await fetch(`${server.baseUrl}/docs`)).status, 200)
  })

  it("takes commands while it runs, on a socket of its owner", async () => {
    assert.strictEqual(statSync(join(dataDir.path, "agentd.sock")).mode & 0o777, 0o600)
    const made = await runCommand(
      env,
      "user",
      "create",
      "--email",
      "Ann@Example.org",
      "--workspace",
      workspace(),
      "--json"
    )
    assert.strictEqual(made.code, 0, made.stderr)
    const user = JSON.parse(made.stdout)
    assert.deepStrictEqual(Object.keys(user), ["userId", "email", "token"])
    const ann = makeClient(server.baseUrl, user.token)
    assert.strictEqual((await ann.request("GET", `/api/agents?workspaceId=${workspace()}`)).status, 200)
    const again = await runCommand(env, "user", "create", "--email", "ann@example.org")
    assert.strictEqual(again.code, 1)
    assert.include(again.stderr, "a user with this e-mail exists")
    const migrated = await runCommand(env, "migrate")
    assert.deepStrictEqual([migrated.code, migrated.stdout], [0, "the database is up to date\n"])
    const plan = await runCommand(env, "workspace", "plan", workspace(), "pro", "--json")
    assert.deepInclude(JSON.parse(plan.stdout), { workspaceId: workspace(), plan: "pro" })
  })

  it("refuses a second process on its folder, in a sentence", async () => {
    let reason = ""
    await startServer(env).catch((error) => {
      reason = String(error)
    })
    assert.include(reason, "is in use by another agentd process")
  })

  it("has everything after kill -9", async () => {
    const { data: agent } = await client().json("POST", "/api/agents", {
      workspaceId: workspace(),
      name: "kept"
    })
    const events = await client().chat({ workspaceId: workspace(), content: "remember me" })
    await server.stop("SIGKILL")
    server = await startServer(env)
    assert.strictEqual(server.stdout().match(/^agentd listening on /gm)?.length, 1)
    assert.notInclude(server.stdout(), "Authorization")
    assert.strictEqual(readCredentials(dataDir.path).baseUrl, server.baseUrl)
    assert.deepStrictEqual((await client().json("GET", `/api/agents/${agent.id}`)).data, agent)
    const id = events[0]?.data.conversationId
    const { data: conversation } = await client().json("GET", `/api/chat/conversations/${id}`)
    assert.deepStrictEqual(conversation.messages.at(-1), events.at(-1)?.data.message)
    const more = await client().chat({ workspaceId: workspace(), content: "again", conversationId: id })
    assert.strictEqual(more.at(-1)?.event, "done")
  })

  it("stops on SIGTERM with exit code 0, also with a connection kept open", async () => {
    await client().request("GET", `/api/agents?workspaceId=${workspace()}`)
    assert.strictEqual(await server.stop("SIGTERM"), 0)
    server = await startServer(env)
  })

  it("stops so too where the command line serves", async () => {
    await server.stop("SIGTERM")
    server = await startServer(env, "agentd")
    assert.strictEqual(await server.stop("SIGTERM"), 0)
    server = await startServer(env)
  })

  it("stops when npm is told to, and leaves nothing behind", async () => {
    await server.stop("SIGTERM")
    const byNpm = await startServer(env, "npm")
    await byNpm.stop("SIGTERM")
    const isGone = () =>
      fetch(`${byNpm.baseUrl}/health/live`).then(
        () => false,
        () => true
      )
    await until(isGone, "nobody answers")
    server = await startServer(env)
  })

  it("takes commands while it is stopped, also after kill -9", async () => {
    await server.stop("SIGKILL")
    const member = ["--email", "ben@example.org", "--workspace", workspace()]
    const made = await runCommand(env, "user", "create", ...member)
    assert.strictEqual(made.code, 0, made.stderr)
    const token = await runCommand(
      env,
      "token",
      "create",
      "--email",
      "ben@example.org",
      "--expires-in",
      "1d",
      "--json"
    )
    assert.strictEqual(token.code, 0, token.stderr)
    server = await startServer(env)
    const ben = makeClient(server.baseUrl, JSON.parse(token.stdout).token)
    assert.strictEqual((await ben.request("GET", `/api/agents?workspaceId=${workspace()}`)).status, 200)
  })
})
