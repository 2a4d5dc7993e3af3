import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { connect, said } from "../../../src/Layers/Client/Connection.ts"
import { NotFound } from "../../../src/Schemas/Errors.ts"

const serving = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
      )
    }),
    () => Effect.sync(() => server.close())
  )

describe("a connection to a service", () => {
  it.effect("tells of what fails nothing that a terminal would obey", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        said("http://agentd.test", Effect.fail(new NotFound({ error: "a\u001b]0;t\u0007\u202Eb\nc" })))
      )
      assert.notMatch(error.error, /[\p{Cc}\p{Cf}]/u)
    })
  )

  it.live("does not follow a redirect: what is sent is for the address that was named", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const elsewhere = yield* serving(
        createServer((request, response) => {
          asked.push(request.url ?? "")
          response.writeHead(200, { "content-type": "application/json" }).end('{"data":[]}')
        })
      )
      const baseUrl = yield* serving(
        createServer((request, response) => {
          response.writeHead(307, { location: `${elsewhere}${request.url}` }).end()
        })
      )
      const { workspace } = yield* connect({ url: Option.some(baseUrl) }, { AGENTD_TOKEN: "secret" })
      const { error } = yield* Effect.flip(workspace)
      assert.strictEqual(error, `what answers at ${baseUrl} is no agentd of this version`)
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.scoped)
  )
})
