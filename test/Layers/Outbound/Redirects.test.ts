import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Client from "../../../src/Layers/Outbound/Client.ts"
import type { Outgoing } from "../../../src/Layers/Outbound/Outgoing.ts"
import { redirected } from "../../../src/Layers/Outbound/Redirects.ts"
import { AddressRefused } from "../../../src/Schemas/Outbound.ts"
import { failure, hello, refusal, serve, text } from "./Servers.ts"

const post: Outgoing = {
  url: new URL("http://one.example/a/b?c"),
  method: "POST",
  headers: new Headers({ "content-type": "text/plain", "x-key": "one" }),
  body: new Uint8Array([1])
}

describe("the request that a redirect asks for", () => {
  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "PATCH", "PATCH"]
  ])("after %i to %s is a %s", (status, method, expected) => {
    const next = redirected({ ...post, method }, status, "../x")
    assert.strictEqual(next.url.href, "http://one.example/x")
    assert.strictEqual(next.method, expected)
    assert.strictEqual(next.headers.get("x-key"), "one")
    assert.strictEqual(next.body, expected === method ? post.body : null)
    assert.strictEqual(next.headers.get("content-type"), expected === method ? "text/plain" : null)
  })

  it.each([
    ["http://one.example", "https://one.example/"],
    ["http://one.example:80", "https://one.example:443/"],
    ["https://one.example:8443", "https://one.example:8443/"],
    ["http://one.example", "//one.example/"],
    ["http://one.example", "HTTP://ONE.example:80/"]
  ])("from %s to %s is sent", (from, to) => {
    assert.strictEqual(redirected({ ...post, url: new URL(from) }, 307, to).headers.get("x-key"), "one")
  })

  it.each([
    ["https://one.example", "http://one.example/"],
    ["http://one.example", "https://one.example:8443/"],
    ["http://one.example:8080", "https://one.example/"],
    ["http://one.example", "http://one.example:8080/"],
    ["http://one.example", "http://two.example/"],
    ["http://one.example", "http://sub.one.example/"],
    ["http://one.example", "https://two.example/"],
    ["http://one.example", "//two.example/"],
    ["http://one.example", "/\\two.example/"],
    ["http://one.example", "http://169.254.169.254/"]
  ])("from %s to %s is refused", (from, to) => {
    assert.include(sentenceOf({ ...post, url: new URL(from) }, to), "to another origin are not followed")
  })

  it.each([
    ["http://user:canary@one.example/", "must not have a user name or a password"],
    ["file:///canary", "only http: and https:"],
    ["http://[canary]", "not a valid URL"]
  ])("to %s is refused", (to, sentence) => {
    assert.include(sentenceOf(post, to), sentence)
    assert.notInclude(sentenceOf(post, to), "canary")
  })
})

const sentenceOf = (from: Outgoing, to: string): string => {
  try {
    return `sent to ${redirected(from, 307, to).url}`
  } catch (error) {
    return error instanceof AddressRefused ? error.error : String(error)
  }
}

const ask = Client.make({})

/** A server whose paths /301, /302 … redirect with that status to /end. */
const redirecting = serve((request, response) => {
  const status = Number(request.url?.slice(1))
  if (Number.isNaN(status)) return response.end("the end")
  response.writeHead(status, { location: "/end" }).end("elsewhere")
})

describe("a request that is redirected", () => {
  for (const status of [307, 308]) {
    it.effect(`with ${status} is sent again with its body and headers`, () =>
      Effect.gen(function* () {
        const { port, received } = yield* redirecting
        const answer = (yield* ask)(`http://127.0.0.1:${port}/${status}`, {
          method: "POST",
          headers: { "x-key": "one", "content-type": "text/x" },
          body: "a body"
        })
        assert.strictEqual(yield* text(answer), "the end")
        assert.deepStrictEqual(
          received.map(({ body, headers, method, path }) => [method, path, body, headers["x-key"]]),
          [
            ["POST", `/${status}`, "a body", "one"],
            ["POST", "/end", "a body", "one"]
          ]
        )
        assert.strictEqual(received[1]?.headers["content-type"], "text/x")
      })
    )
  }

  it.effect("with 303 becomes a GET, also if its body is a stream, which can't be sent again", () =>
    Effect.gen(function* () {
      const { port, received } = yield* redirecting
      const fetch = yield* ask
      const init = () => ({ method: "POST", body: new Blob(["a body"]).stream(), duplex: "half" as const })
      assert.strictEqual(yield* text(fetch(`http://127.0.0.1:${port}/303`, init())), "the end")
      assert.strictEqual(
        yield* refusal(fetch(`http://127.0.0.1:${port}/307`, init())),
        `127.0.0.1:${port} redirects a request whose body is a stream, which can't be sent again`
      )
      assert.deepStrictEqual(
        received.map(({ body, method, path }) => [method, path, body]),
        [
          ["POST", "/303", "a body"],
          ["GET", "/end", ""],
          ["POST", "/307", "a body"]
        ]
      )
    })
  )

  it.effect("to another origin is refused, and nothing is sent there", () =>
    Effect.gen(function* () {
      const other = yield* serve(hello)
      const { port, received } = yield* serve((_, response) => {
        response.writeHead(302, { location: `http://127.0.0.1:${other.port}/` }).end()
      })
      const guarded = yield* Client.make({ isAllowed: (address) => address === "127.0.0.1" })
      for (const fetch of [yield* ask, guarded]) {
        const asked = fetch(`http://127.0.0.1:${port}/`, { headers: { "x-key": "canary" } })
        assert.strictEqual(
          yield* refusal(asked),
          `127.0.0.1:${port} redirects to http://127.0.0.1:${other.port}, and redirects to another origin are not followed`
        )
      }
      assert.lengthOf(received, 2)
      assert.lengthOf(other.received, 0)
    })
  )

  it.effect("follows five redirects, not six", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve((request, response) => {
        const left = Number(request.url?.slice(1))
        if (left === 0) return response.end("the end")
        response.writeHead(302, { location: `/${left - 1}` }).end()
      })
      const fetch = yield* ask
      assert.strictEqual(yield* text(fetch(`http://127.0.0.1:${port}/5`)), "the end")
      received.length = 0
      assert.strictEqual(
        yield* refusal(fetch(`http://127.0.0.1:${port}/1000`)),
        "127.0.0.1 redirects more than 5 times"
      )
      assert.lengthOf(received, 6)
    })
  )

  it.effect("lets go of an answer that never ends", () =>
    Effect.gen(function* () {
      const closed = Promise.withResolvers<unknown>()
      const { port } = yield* serve((request, response) => {
        if (request.url === "/end") return response.end("the end")
        closed.resolve(once(request.socket, "close"))
        response.writeHead(302, { location: "/end" }).write("start")
      })
      assert.strictEqual(yield* text((yield* ask)(`http://127.0.0.1:${port}/`)), "the end")
      yield* Effect.promise(() => closed.promise)
    })
  )

  it.effect("is left to a caller who wants it manual, and fails for one who takes it for an error", () =>
    Effect.gen(function* () {
      const { port, received } = yield* redirecting
      const fetch = yield* ask
      const url = `http://127.0.0.1:${port}/302`
      for (const asked of [
        fetch(url, { redirect: "manual" }),
        fetch(new Request(url, { redirect: "manual" }))
      ]) {
        const response = yield* Effect.promise(() => asked)
        assert.deepStrictEqual([response.status, response.headers.get("location")], [302, "/end"])
        assert.strictEqual(yield* Effect.promise(() => response.text()), "elsewhere")
      }
      assert.instanceOf(yield* failure(fetch(url, { redirect: "error" })), TypeError)
      assert.deepStrictEqual(
        received.map(({ path }) => path),
        ["/302", "/302", "/302"]
      )
    })
  )

  it.effect("is an answer like others without a location, or with another status", () =>
    Effect.gen(function* () {
      const { port } = yield* serve((request, response) => {
        response.writeHead(Number(request.url?.slice(1)), request.url === "/302" ? {} : { location: "/end" })
        response.end()
      })
      const fetch = yield* ask
      for (const status of [200, 201, 300, 302, 304]) {
        const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/${status}`))
        assert.strictEqual(response.status, status)
      }
    })
  )
})
