import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TlsOptions } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Client from "../../../src/Layers/Outbound/Client.ts"
import { hasOpenssl, makeCertificate } from "../../support/Certificates.ts"
import { failure } from "./Servers.ts"

/** The port of a server that only its own certificate vouches for, and how many requests it was sent. */
const serve = Effect.fnUntraced(function* (options: TlsOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), "agentd-test-tls-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
  const { certificate, key } = makeCertificate(folder, "localhost")
  const cert = readFileSync(certificate)
  let requests = 0
  const server = createServer({ ...options, cert, key: readFileSync(key) }, (_, response) => {
    requests++
    response.end("hello")
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  return { port: (server.address() as AddressInfo).port, requests: () => requests }
})

/** The code with which a request to it fails: by the guarded way out, and by the trusted one. */
const codesOf = (port: number) =>
  Effect.forEach([{ isAllowed: () => true }, {}], (guard) =>
    Effect.gen(function* () {
      const fetch = yield* Client.make(guard)
      const error = yield* failure(
        fetch(`https://localhost:${port}/`, { headers: { "x-api-key": "secret" } })
      )
      return ((error as Error).cause as { readonly code?: string } | undefined)?.code
    })
  )

describe.skipIf(!hasOpenssl)(hasOpenssl ? "over https" : "over https (skipped: no openssl)", () => {
  it.effect("nothing is sent to a server whose certificate nobody vouches for", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* serve()
      const self = "DEPTH_ZERO_SELF_SIGNED_CERT"
      assert.deepStrictEqual(yield* codesOf(port), [self, self])
      assert.strictEqual(requests(), 0)
    })
  )

  it.effect("nothing older than TLS 1.2 is spoken", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* serve({
        minVersion: "TLSv1",
        maxVersion: "TLSv1.1",
        ciphers: "DEFAULT@SECLEVEL=0"
      })
      const old = "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION"
      assert.deepStrictEqual(yield* codesOf(port), [old, old])
      assert.strictEqual(requests(), 0)
    })
  )
})
