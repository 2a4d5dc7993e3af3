import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as Post from "../../../src/Layers/Telemetry/Post.ts"

const collector = (answer: (response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => request.resume().on("end", () => answer(response)))
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      return server
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const post = Effect.fnUntraced(function* (answer: (response: ServerResponse) => void) {
  return yield* Post.make({
    url: yield* collector(answer),
    headers: [],
    protocol: "http/json",
    compression: "none",
    timeoutMillis: 200
  })(HttpBody.jsonUnsafe({}))
})

describe("what a collector answers", () => {
  it.live("is taken where it says so, however long it goes on with that", () =>
    Effect.gen(function* () {
      const hanging = yield* post((response) => response.writeHead(200).write("{"))
      assert.deepStrictEqual(hanging, { _tag: "Taken" })
      const broken = yield* post((response) => {
        response.writeHead(200).write("{")
        setImmediate(() => response.destroy())
      })
      assert.deepStrictEqual(broken, { _tag: "Taken" })
    })
  )

  it.live("is final where it refuses, however long it goes on with that", () =>
    Effect.gen(function* () {
      const refused = yield* post((response) => response.writeHead(400).write("no"))
      assert.strictEqual(refused._tag, "Refused")
      const moved = yield* post((response) => response.writeHead(307, { location: "/" }).end())
      assert.strictEqual(moved._tag, "Refused")
    })
  )

  it.live("says how long to wait, a minute at most", () =>
    Effect.gen(function* () {
      const waitOf = (value: string) =>
        Effect.map(
          post((response) => response.writeHead(429, { "retry-after": value }).end()),
          (answer) => (answer._tag === "Away" ? answer.afterMillis : answer._tag)
        )
      assert.strictEqual(yield* waitOf("2"), 2_000)
      assert.strictEqual(yield* waitOf("999999"), 60_000)
      assert.strictEqual(yield* waitOf("-1"), undefined)
      assert.strictEqual(yield* waitOf("soon"), undefined)
      assert.strictEqual(yield* waitOf("Wed, 21 Oct 2015 07:28:00 GMT"), 0)
    })
  )

  it.live("is away where it does not answer", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* post(() => undefined))._tag, "Away")
      assert.strictEqual((yield* post((response) => response.destroy()))._tag, "Away")
    })
  )
})
