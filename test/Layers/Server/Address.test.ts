import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Server from "../../../src/Layers/Server.ts"
import { none, parse } from "../../../src/Schemas/Networks.ts"
import { makeLog } from "../../support/Log.ts"
import { layerScripted, makeTenant } from "../../support/Service.ts"

const environment = ConfigProvider.layer(
  ConfigProvider.fromUnknown({ PORT: "0", DATABASE_URL: "postgres://not-used" })
)

/** Asks a server over the network, as if from there. */
const makeAsk = Effect.gen(function* () {
  const context = yield* Layer.build(Server.layer)
  const { address } = yield* Effect.provideContext(HttpServer.HttpServer, context)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return (forwardedFor: string, headers: Readonly<Record<string, string>> = {}) =>
    Effect.promise(() =>
      fetch(`http://127.0.0.1:${port}/api/tokens`, {
        headers: { "x-forwarded-for": forwardedFor, ...headers }
      })
    )
})

describe("the address of a request", () => {
  it.live("is what a trusted proxy says, in the log and for the rate", () => {
    const log = makeLog("Info")
    return Effect.gen(function* () {
      const { token } = yield* makeTenant()
      const ask = yield* makeAsk
      assert.strictEqual((yield* ask("6.6.6.6, 192.0.2.1")).status, 401)
      assert.strictEqual((yield* ask("6.6.6.6, 192.0.2.2")).status, 401)
      assert.strictEqual((yield* ask("7.7.7.7, 192.0.2.1", { forwarded: "for=192.0.2.9" })).status, 429)
      assert.strictEqual((yield* ask("192.0.2.3", { authorization: `Bearer ${token}` })).status, 200)
      assert.deepStrictEqual(
        log.facts().flatMap(({ address }) => (address === undefined ? [] : [address])),
        ["192.0.2.1", "192.0.2.2"]
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(layerScripted({ anonymousPerMinute: 1, trustedProxies: parse("localhost") ?? none })),
      Effect.provide(environment),
      Effect.provide(log.layer)
    )
  })

  it.live("is that of the peer where no proxy is trusted", () => {
    const log = makeLog("Info")
    return Effect.gen(function* () {
      const ask = yield* makeAsk
      assert.strictEqual((yield* ask("192.0.2.1")).status, 401)
      assert.strictEqual((yield* ask("192.0.2.2")).status, 429)
      assert.deepStrictEqual(
        log.facts().flatMap(({ address }) => (address === undefined ? [] : [address])),
        ["127.0.0.1"]
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(layerScripted({ anonymousPerMinute: 1 })),
      Effect.provide(environment),
      Effect.provide(log.layer)
    )
  })
})
