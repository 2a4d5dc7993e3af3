import { once } from "node:events"
import type { LookupFunction } from "node:net"
import { inspect } from "node:util"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Client from "../../src/Layers/Outbound/Client.ts"
import type { Refusal } from "../../src/Layers/Outbound/Guard.ts"
import * as OutboundOfProcess from "../../src/Layers/Outbound.ts"
import { allowedBy } from "../../src/Schemas/PrivateAddresses.ts"
import { Outbound } from "../../src/Services/Outbound.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { makeLog } from "../support/Log.ts"
import { failure, hello, names, refusal, serve, text } from "./Outbound/Servers.ts"

/** The service of a process, until the test ends. */
const outbound = (allowPrivateAddresses: boolean | string) =>
  OutboundOfProcess.layer.pipe(
    Layer.provide(Layer.succeed(Settings, { ...Settings.defaults, allowPrivateAddresses })),
    Layer.build,
    Effect.map((context) => Context.get(context, Outbound))
  )

const hint =
  "is no known host, or one in a private network that AGENTD_ALLOW_PRIVATE_ADDRESSES does not allow"

/** As on the public internet, 127.0.0.1 being a public address and all others private ones. */
const isAllowed = (address: string) => address === "127.0.0.1"

describe("the guarded way out", () => {
  for (const [host, subject] of [
    ["127.0.0.1", "127.0.0.1"],
    ["localhost", "localhost"],
    ["LOCALHOST", "localhost"],
    ["[::1]", "::1"],
    ["2130706433", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["0177.0.0.1", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["１２７.0.0.1", "127.0.0.1"],
    ["[::ffff:127.0.0.1]", "::ffff:7f00:1"],
    ["[64:ff9b::127.0.0.1]", "64:ff9b::7f00:1"],
    ["0", "0.0.0.0"],
    ["169.254.169.254", "169.254.169.254"]
  ] as const) {
    it.effect(`refuses ${host}`, () =>
      Effect.gen(function* () {
        const { port, received } = yield* serve(hello)
        const { guarded } = yield* outbound(false)
        assert.strictEqual(yield* refusal(guarded(`http://${host}:${port}/`)), `${subject} ${hint}`)
        assert.lengthOf(received, 0)
      })
    )
  }

  it.effect("refuses over https too, and rejects with the sentence", () =>
    Effect.gen(function* () {
      const { guarded } = yield* outbound(false)
      const error = yield* failure(guarded("https://127.0.0.1:4/"))
      assert.instanceOf(error, TypeError)
      assert.strictEqual(error.message, `127.0.0.1 ${hint}`)
      const named = yield* Client.make({ isAllowed, lookup: names(["10.9.8.7"]) })
      assert.include(yield* refusal(named("https://inside.example/")), `inside.example ${hint}`)
    })
  )

  it.effect("refuses a name that leads to private addresses, without telling which", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve(hello)
      const guarded = yield* Client.make({ isAllowed, lookup: names(["127.0.0.2", "10.9.8.7", "fd00::1"]) })
      const error = yield* failure(guarded(`http://inside.example:${port}/`))
      assert.strictEqual(yield* refusal(Promise.reject(error)), `inside.example ${hint}`)
      assert.notMatch(JSON.stringify(error, Object.getOwnPropertyNames(error)), /127\.0|10\.9|fd00/)
      assert.lengthOf(received, 0)
    })
  )

  it.effect("connects to the public addresses of a name alone", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve(hello)
      const lookup = names(["127.0.0.2", "127.0.0.1", "127.0.0.3"])
      const guarded = yield* Client.make({ isAllowed, lookup })
      assert.strictEqual(yield* text(guarded(`http://mixed.example:${port}/`)), "hello")
      assert.deepStrictEqual(
        received.map(({ at }) => at),
        ["127.0.0.1"]
      )
    })
  )

  it.effect("checks again each time it connects", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve(hello)
      const guarded = yield* Client.make({ isAllowed, lookup: names(["127.0.0.1"], ["127.0.0.2"]) })
      const address = `http://rebinding.example:${port}/`
      assert.strictEqual(yield* text(guarded(address)), "hello")
      assert.include(yield* refusal(guarded(address)), `rebinding.example ${hint}`)
      assert.lengthOf(received, 1)
    })
  )

  it.effect("says the same of a name that does not exist, and the difference to the operator alone", () =>
    Effect.gen(function* () {
      const unknown = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" })
      const told: Array<Refusal> = []
      const onRefusal = (refusal: Refusal) => void told.push(refusal)
      const make = (lookup: LookupFunction) => Client.make({ isAllowed, lookup, onRefusal })
      const nowhere = yield* make((_, __, callback) => callback(unknown, []))
      const bare = yield* make((_, __, callback) => callback(null, []))
      const inside = yield* make(names(["10.9.8.7", "fd00::1"]))
      const errors = yield* Effect.forEach([nowhere, bare, inside], (guarded) =>
        failure(guarded("http://some.example/"))
      )
      for (const error of errors) {
        assert.instanceOf(error, TypeError)
        assert.strictEqual(error.message, `some.example ${hint}`)
      }
      const seen = errors.map((error) =>
        inspect(error, { depth: 9, showHidden: true }).replace(/^ +at .*$/gmu, "")
      )
      assert.lengthOf(new Set(seen), 1)
      assert.deepStrictEqual(
        told.map(({ found, host }) => [host, found]),
        [
          ["some.example", "ENOTFOUND"],
          ["some.example", "no address"],
          ["some.example", "10.9.8.7, fd00::1"]
        ]
      )
      const closed = yield* failure(inside("http://127.0.0.1:4/"))
      assert.instanceOf(closed, TypeError)
      assert.include(String(closed.cause), "ECONNREFUSED")
    })
  )

  it.effect("logs why, with what was found", () => {
    const log = makeLog()
    return Effect.gen(function* () {
      const { guarded } = yield* outbound(false)
      yield* refusal(guarded("http://localhost:4/"))
      yield* refusal(guarded("http://10.9.8.7:4/"))
      const facts = log.facts()
      assert.lengthOf(facts, 2)
      assert.match(JSON.stringify(facts[0]), /"host":"localhost","found":"[^"]*(?:127\.0\.0\.1|::1)/u)
      assert.deepInclude(facts[1], { level: "INFO", host: "10.9.8.7", found: "10.9.8.7" })
    }).pipe(Effect.provide(log.layer))
  })

  it.effect("lets listed networks and names through alone, and metadata never by the way", () =>
    Effect.gen(function* () {
      const { port } = yield* serve(hello)
      const { guarded } = yield* outbound("127.0.0.0/8")
      for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) {
        assert.strictEqual(yield* text(guarded(`http://${host}:${port}/`)), "hello")
      }
      assert.strictEqual(yield* refusal(guarded(`http://0.0.0.0:${port}/`)), `0.0.0.0 ${hint}`)
      const other = (yield* outbound("10.1.0.0/16")).guarded
      assert.strictEqual(yield* refusal(other(`http://127.0.0.1:${port}/`)), `127.0.0.1 ${hint}`)
      const all = (yield* outbound(true)).guarded
      for (const [host, shown] of [
        ["169.254.169.254", "169.254.169.254"],
        ["[::ffff:169.254.169.254]", "::ffff:a9fe:a9fe"],
        ["[fd00:ec2::254]", "fd00:ec2::254"],
        ["0xa9fea9fe", "169.254.169.254"]
      ]) {
        assert.strictEqual(yield* refusal(all(`http://${host}/latest/`)), `${shown} ${hint}`)
      }
      // After DNS as well.
      const isAllowedBy = allowedBy(true, () => false)
      const rebinding = yield* Client.make({ isAllowed: isAllowedBy, lookup: names(["169.254.169.254"]) })
      assert.strictEqual(yield* refusal(rebinding("http://inside.example/")), `inside.example ${hint}`)
      const named = yield* Client.make({ isAllowed: isAllowedBy, lookup: names(["127.0.0.1"]) })
      assert.strictEqual(
        yield* refusal(named(`http://metadata.google.internal:${port}/`)),
        `metadata.google.internal ${hint}`
      )
    })
  )

  it.effect("lets private addresses through when the operator allows them", () =>
    Effect.gen(function* () {
      const { port } = yield* serve(hello)
      const { guarded } = yield* outbound(true)
      for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) {
        assert.strictEqual(yield* text(guarded(`http://${host}:${port}/`)), "hello")
      }
    })
  )

  it.effect("is apart from the trusted one, which reaches any address", () =>
    Effect.gen(function* () {
      const { port, received } = yield* serve((_, response) => response.end("hello"))
      const { guarded, trusted } = yield* outbound(false)
      const address = `http://127.0.0.1:${port}/`
      // An open connection of one must not serve the other.
      assert.strictEqual(yield* text(trusted(address)), "hello")
      assert.include(yield* refusal(guarded(address)), hint)
      assert.lengthOf(received, 1)
    })
  )

  it.effect("refuses addresses that are not plain http ones, without repeating their secrets", () =>
    Effect.gen(function* () {
      const { guarded, trusted } = yield* outbound(false)
      for (const ask of [guarded, trusted]) {
        for (const [address, sentence] of [
          [
            "https://user:canary@host.example/",
            "the address of host.example must not have a user name or a password"
          ],
          [
            "https://:canary@host.example/",
            "the address of host.example must not have a user name or a password"
          ],
          ["file:///canary", "addresses with file: are not supported, only http: and https:"],
          ["data:,canary", "addresses with data: are not supported, only http: and https:"],
          ["ftp://canary/", "addresses with ftp: are not supported, only http: and https:"],
          ["http://[canary]/", "the address is not a valid URL"],
          ["/canary", "the address is not a valid URL"]
        ] as const) {
          assert.strictEqual(yield* refusal(ask(address)), sentence)
        }
      }
    })
  )
})

describe("a request", () => {
  const at = Effect.fnUntraced(function* (answer: Parameters<typeof serve>[0] = hello) {
    const server = yield* serve(answer)
    const ask = yield* Client.make({ isAllowed })
    return { ...server, ask, url: `http://127.0.0.1:${server.port}/path?a=b` }
  })

  it.effect("takes every form that fetch takes", () =>
    Effect.gen(function* () {
      const { ask, received, url } = yield* at()
      const form = new FormData()
      form.set("field", "value")
      const init = { method: "POST", headers: { "x-key": "one" } }
      const stream = () => new Blob(["a body"]).stream()
      const forms: ReadonlyArray<readonly [() => Promise<Response>, body: RegExp, type: RegExp]> = [
        [() => ask(url, { ...init, body: "a body" }), /^a body$/, /^text\/plain/],
        [() => ask(new URL(url), { ...init, body: Buffer.from("a body") }), /^a body$/, /^none$/],
        [() => ask(url, { ...init, body: new URLSearchParams("a=b") }), /^a=b$/, /x-www-form-urlencoded/],
        [() => ask(url, { ...init, body: form }), /name="field"\r\n\r\nvalue/, /^multipart\/.*boundary=/],
        [() => ask(url, { ...init, body: stream(), duplex: "half" }), /^a body$/, /^none$/],
        [() => ask(new Request(url, { ...init, body: "a body" })), /^a body$/, /^text\/plain/],
        [
          () => ask(new Request(url, { ...init, body: "no" }), { body: "a body" }),
          /^a body$/,
          /^text\/plain/
        ],
        [() => ask(url, { ...init, headers: new Headers(init.headers) }), /^$/, /^none$/]
      ]
      for (const [asking, body, type] of forms) {
        assert.strictEqual(yield* text(asking()), "hello")
        const request = received.at(-1)
        assert.match(request?.body ?? "none", body)
        assert.match(request?.headers["content-type"] ?? "none", type)
      }
      assert.lengthOf(received, forms.length)
      for (const { headers, method, path } of received) {
        assert.deepStrictEqual([headers["x-key"], method, path], ["one", "POST", "/path?a=b"])
      }
    })
  )

  it.effect("gets its answer decompressed, on a connection that is used again", () =>
    Effect.gen(function* () {
      const { ask, server, url } = yield* at((_, response) => {
        response.setHeader("content-encoding", "gzip").end(gzipSync("hello"))
      })
      let connections = 0
      server.on("connection", () => connections++)
      for (let count = 0; count < 3; count++) assert.strictEqual(yield* text(ask(url)), "hello")
      assert.strictEqual(connections, 1)
    })
  )

  it.effect("has a connection for each of 600 that one server is slow to answer", () =>
    Effect.gen(function* () {
      const all = Promise.withResolvers<void>()
      let arrived = 0
      const { ask, url } = yield* at((_, response) => {
        if (++arrived === 600) all.resolve()
        void all.promise.then(() => response.end("hello"))
      })
      const asked = Effect.forEach(Array.from({ length: 600 }), () => text(ask(url)), {
        concurrency: "unbounded"
      })
      assert.lengthOf(yield* asked, 600)
    })
  )

  for (const [moment, start] of [
    ["before the answer", false],
    ["within the answer", true]
  ] as const) {
    it.effect(`that is aborted ${moment} closes the connection`, () =>
      Effect.gen(function* () {
        const arrived = Promise.withResolvers<{ closed: Promise<unknown> }>()
        const { ask, url } = yield* at((request, response) => {
          if (start) response.write("start")
          arrived.resolve({ closed: once(request.socket, "close") })
        })
        const controller = new AbortController()
        const asked = ask(url, { signal: controller.signal })
        const outcome = start ? asked.then((response) => response.text()) : asked
        const failed = outcome.then(
          () => assert.fail("answered"),
          (error: unknown) => error
        )
        if (start) yield* Effect.promise(() => asked)
        const { closed } = yield* Effect.promise(() => arrived.promise)
        controller.abort(new Error("enough"))
        yield* Effect.promise(() => closed)
        assert.strictEqual(((yield* Effect.promise(() => failed)) as Error).message, "enough")
      })
    )
  }

  it.effect("that is aborted already, or by its Request, is not sent", () =>
    Effect.gen(function* () {
      const { ask, received, url } = yield* at()
      const signal = AbortSignal.abort(new Error("enough"))
      for (const asked of [
        ask(url, { signal }),
        ask(new Request(url, { signal })),
        ask(new Request(url, { signal, method: "POST", body: "a body" }))
      ]) {
        assert.strictEqual(((yield* failure(asked)) as Error).message, "enough")
      }
      assert.lengthOf(received, 0)
    })
  )

  it.effect("fails when the scope closes, and so do later ones", () =>
    Effect.gen(function* () {
      const arrived = Promise.withResolvers<{ closed: Promise<unknown> }>()
      const { port } = yield* serve((request) => arrived.resolve({ closed: once(request.socket, "close") }))
      const scope = yield* Scope.make()
      const ask = yield* Scope.provide(Client.make({ isAllowed }), scope)
      const failed = yield* Effect.forkChild(failure(ask(`http://127.0.0.1:${port}/`)), {
        startImmediately: true
      })
      const { closed } = yield* Effect.promise(() => arrived.promise)
      yield* Scope.close(scope, Exit.void)
      yield* Effect.promise(() => closed)
      yield* Fiber.join(failed)
      assert.include(String(yield* failure(ask(`http://127.0.0.1:${port}/`))), "the service is stopping")
    })
  )
})
