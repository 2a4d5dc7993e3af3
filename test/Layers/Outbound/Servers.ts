import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo, LookupFunction } from "node:net"
import { text as bodyOf } from "node:stream/consumers"
import * as Effect from "effect/Effect"
import { refusalOf } from "../../../src/Schemas/Outbound.ts"

export interface Received {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  /** The address at which it came in. */
  readonly at: string | undefined
}

/** A server on every IPv4 address of this machine, and what it has received. */
export const serve = Effect.fnUntraced(function* (answer: Http.RequestListener) {
  const received: Array<Received> = []
  const server = Http.createServer(async (request, response) => {
    const { headers, method, socket, url } = request
    const body = await bodyOf(request)
    received.push({ method, path: url, headers, body, at: socket.localAddress })
    answer(request, response)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "0.0.0.0"), "listening")),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  return { port: (server.address() as AddressInfo).port, received, server }
})

/** Answers "hello" and closes, so that each request connects anew. */
export const hello: Http.RequestListener = (_, response) => {
  response.setHeader("connection", "close").end("hello")
}

/** DNS in which every name has these addresses: one list for each look-up, the last for all further ones. */
export const names = (...answers: ReadonlyArray<ReadonlyArray<string>>): LookupFunction => {
  let count = 0
  return (_, options, callback) => {
    const addresses = answers[Math.min(count++, answers.length - 1)] ?? []
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
    queueMicrotask(() =>
      options.all ? callback(null, found) : callback(null, found[0]?.address ?? "", found[0]?.family)
    )
  }
}

export const text = (asked: Promise<Response>) => Effect.promise(async () => (await asked).text())

/** What a request rejects with. */
export const failure = (asked: Promise<Response>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    asked.then(
      (response) => {
        throw new Error(`answered ${response.status}`)
      },
      (error: unknown) => error
    )
  )

/** The sentence with which a request is refused. */
export const refusal = (asked: Promise<Response>) =>
  Effect.map(failure(asked), (error) => refusalOf(error)?.error ?? `no refusal: ${error}`)
