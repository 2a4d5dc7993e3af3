import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Client from "../../../src/Layers/Outbound/Client.ts"
import { refusalOf } from "../../../src/Schemas/Outbound.ts"
import type { Posted } from "../../../src/Services/Outbound.ts"
import { hello, names, serve } from "./Servers.ts"

const isAllowed = (address: string) => address === "127.0.0.1"
const never = new AbortController().signal
const given = (more: Partial<Posted> = {}): Posted => ({
  headers: { "content-type": "application/json" },
  body: new TextEncoder().encode('{"text":"Zoë"}'),
  signal: never,
  ...more
})

/** What it rejects with. */
const failure = (asked: Promise<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    asked.then(
      () => "no failure",
      (error: unknown) => error
    )
  )

describe("a post", () => {
  it.effect("sends bytes as they are, and tells the status alone", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve((_, response) => {
        response.statusCode = 418
        response.end("short")
      })
      const { post } = yield* Client.makeWays({ isAllowed })
      const answer = yield* Effect.promise(() => post(`http://127.0.0.1:${port}/a?b`, given()))
      yield* Effect.promise(() => answer.letGo(4_096, never))
      assert.strictEqual(answer.status, 418)
      const [one] = received
      assert.deepInclude(one, { method: "POST", path: "/a?b", body: '{"text":"Zoë"}' })
      assert.deepInclude(one?.headers, { "content-type": "application/json", "content-length": "15" })
    })
  )

  it.effect("has the connection of an answer that was let go serve the next", () =>
    Effect.gen(function* () {
      let connections = 0
      const { port, server } = yield* serve((_, response) => void response.end("x".repeat(1_000)))
      server.on("connection", () => void connections++)
      const { post } = yield* Client.makeWays({ isAllowed })
      for (let n = 0; n < 20; n++) {
        const answer = yield* Effect.promise(() => post(`http://127.0.0.1:${port}/`, given()))
        yield* Effect.promise(() => answer.letGo(4_096, never))
      }
      // The next may begin in the turn in which the last is over.
      assert.isAtMost(connections, 2)
    })
  )

  it.effect("closes the connection of an answer that is too long, or takes too long", () =>
    Effect.gen(function* () {
      const closed: Array<Promise<unknown>> = []
      const { port } = yield* serve((request, response) => {
        closed.push(once(response, "close"))
        response.write("x".repeat(request.url === "/long" ? 1_000_000 : 1))
      })
      const { post } = yield* Client.makeWays({ isAllowed })
      const long = yield* Effect.promise(() => post(`http://127.0.0.1:${port}/long`, given()))
      yield* Effect.promise(() => long.letGo(4_096, never))
      const slow = yield* Effect.promise(() => post(`http://127.0.0.1:${port}/slow`, given()))
      const until = new AbortController()
      const letGo = slow.letGo(4_096, until.signal)
      until.abort()
      yield* Effect.promise(() => letGo)
      yield* Effect.promise(() => Promise.all(closed))
    })
  )

  it.effect("follows no redirect", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve((_, response) => {
        response.writeHead(307, { location: "/elsewhere" }).end()
      })
      const { post } = yield* Client.makeWays({ isAllowed })
      const answer = yield* Effect.promise(() => post(`http://127.0.0.1:${port}/`, given()))
      yield* Effect.promise(() => answer.letGo(4_096, never))
      assert.strictEqual(answer.status, 307)
      assert.lengthOf(received, 1)
    })
  )

  it.effect("goes where the guard lets it, by the address that it connects to", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve(hello)
      const lookup = names(["127.0.0.2", "10.9.8.7"])
      const { post } = yield* Client.makeWays({ isAllowed, lookup })
      for (const address of [`http://127.0.0.2:${port}/`, `http://inside.example:${port}/`]) {
        const refused = refusalOf(yield* failure(post(address, given())))
        assert.include(refused?.error, "AGENTD_ALLOW_PRIVATE_ADDRESSES does not allow")
      }
      assert.lengthOf(received, 0)
      const secret = refusalOf(yield* failure(post("https://user:canary@host.example/", given())))
      assert.strictEqual(secret?.error, "the address of host.example must not have a user name or a password")
    })
  )

  it.effect("is broken off by its signal, and not begun by a service that stops", () =>
    Effect.gen(function* () {
      let begun: (() => void) | undefined
      const reached = new Promise<void>((resolve) => {
        begun = resolve
      })
      const { port } = yield* serve(() => begun?.())
      const stop = new AbortController()
      const post = yield* Effect.scoped(
        Effect.gen(function* () {
          const { post } = yield* Client.makeWays({ isAllowed })
          const asked = failure(post(`http://127.0.0.1:${port}/`, given({ signal: stop.signal })))
          yield* Effect.promise(() => reached)
          stop.abort()
          assert.notStrictEqual(yield* asked, "no failure")
          return post
        })
      )
      const late = yield* failure(post(`http://127.0.0.1:${port}/`, given()))
      assert.include(String(late), "the service is stopping")
    })
  )
})
