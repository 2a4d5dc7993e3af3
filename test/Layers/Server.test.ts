import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as Server from "../../src/Layers/Server.ts"
import { Lifecycle } from "../../src/Services/Lifecycle.ts"
import { parseEvents } from "../support/Process.ts"
import { layerScripted, makeGate, makeTenant, ScriptedModel } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"

const environment = ConfigProvider.layer(
  ConfigProvider.fromUnknown({ PORT: "0", DATABASE_URL: "postgres://not-used" })
)

const drainMillis = 600_000

/** A server that stops when its scope is closed. */
const startServer = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Server.layer, scope)
  const { address } = yield* Effect.provideContext(HttpServer.HttpServer, context)
  return { scope, port: address._tag === "UnixPathAddress" ? 0 : address.port }
})

const jsonHeaders = (token: string) => ({
  authorization: `Bearer ${token}`,
  "content-type": "application/json"
})

describe("stopping the server", () => {
  it.live("does not wait for connections that have sent nothing", () =>
    Effect.gen(function* () {
      const { port, scope } = yield* startServer
      const open = (sent: string) =>
        Effect.callback<Socket>((resume) => {
          const socket = connect(port, "127.0.0.1", () => {
            socket.write(sent)
            resume(Effect.succeed(socket))
          })
          socket.on("error", () => {})
        })
      yield* open("")
      yield* open("GET /health/li")
      // Whoever waited for them would wait for an hour.
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(layerScripted({ drainMillis: 3_600_000 })), Effect.provide(environment))
  )

  it.effect("lets an open stream end with an error event and refuses new work meanwhile", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const reached = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(reached.open, Stream.never))
      const { token, workspaceId } = yield* makeTenant()
      const { port, scope } = yield* startServer
      const headers = jsonHeaders(token)
      const post = (path: string, json: object) =>
        fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: JSON.stringify(json) })

      const reading = yield* Effect.forkChild(
        Effect.promise(async () => {
          const answer = await post("/api/chat/messages", { workspaceId, content: "hi" })
          return parseEvents(await answer.text())
        })
      )
      yield* reached.wait
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      const lifecycle = yield* Lifecycle
      while ((yield* Effect.exit(lifecycle.accepting))._tag === "Success") yield* Effect.yieldNow
      const refused = yield* Effect.promise(() => post("/api/agents", { workspaceId, name: "late" }))
      assert.strictEqual(refused.status, 503)
      yield* TestClock.adjust(drainMillis)
      const last = (yield* Fiber.join(reading)).at(-1)
      assert.deepInclude(last, { event: "error" })
      assert.strictEqual(last?.data.code, "unavailable")
      // Kept connections do not hold the process back: they would be closed when as much time has really passed.
      yield* Fiber.join(closing)
      const after = yield* Effect.exit(
        Effect.tryPromise(() => post("/api/agents", { workspaceId, name: "x" }))
      )
      assert.strictEqual(after._tag, "Failure")
    }).pipe(
      Effect.provide(layerScripted({ drainMillis, modelTimeoutMillis: drainMillis * 2 })),
      Effect.provide(environment)
    )
  )
})

describe("the event streams of a user", () => {
  it.live("are 64 at once: one more is a 429, until a client has left", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      model.script = () => Stream.never
      const { token, workspaceId } = yield* makeTenant()
      const { port, scope } = yield* startServer
      const headers = jsonHeaders(token)
      const body = JSON.stringify({ workspaceId, content: "hi" })
      const open = Effect.promise(() => {
        const leaving = new AbortController()
        return fetch(`http://127.0.0.1:${port}/api/chat/messages`, {
          method: "POST",
          headers,
          body,
          signal: leaving.signal
        }).then((answer) => ({ answer, leave: () => leaving.abort() }))
      })
      const opened = yield* Effect.replicateEffect(open, 64)
      assert.deepStrictEqual(
        opened.map(({ answer }) => answer.status),
        Array.from(opened, () => 200)
      )
      const { answer } = yield* open
      assert.strictEqual(answer.status, 429)
      assert.strictEqual(answer.headers.get("x-error-code"), "rate_limited")
      assert.strictEqual(answer.headers.get("retry-after"), "5")
      assert.deepStrictEqual(yield* Effect.promise(() => answer.json()), {
        error: "event streams: 64 of this user are open on this node; close one and try again"
      })
      opened[0]?.leave()
      yield* eventually(
        Effect.map(open, (again) => again.answer.status === 200),
        "a place is free"
      )
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(layerScripted({ drainMillis: 10 })), Effect.provide(environment))
  )
})
