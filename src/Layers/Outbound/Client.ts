import * as Effect from "effect/Effect"
import { refusalOf } from "../../Schemas/Outbound.ts"
import type { Outbound } from "../../Services/Outbound.ts"
import { connector, type Guard } from "./Guard.ts"
import { type Outgoing, outgoing, plain } from "./Outgoing.ts"
import { follow } from "./Redirects.ts"

/**
 * Callers watch over time themselves, so only connecting has a limit. HTTP/1.1 alone: there an abort closes
 * the socket, which tells the other server to stop. There are as many connections as what is executed needs, which is
 * bounded: with fewer for one server, slow answers of some would hold up all others that ask it.
 */
const options = {
  allowH2: false,
  bodyTimeout: 0,
  headersTimeout: 0,
  keepAliveMaxTimeout: 30_000,
  keepAliveTimeout: 4_000
}

/**
 * `fetch` with connections of its own, which close with the scope. Connects directly: `HTTP_PROXY` and its
 * like are ignored, since a proxy would choose the address behind the guard's back. Undici, which takes
 * some 70 ms to load, is loaded by the first request. What `fetch` knows beyond method, headers, body,
 * signal and redirect has no effect.
 */
export const make = (guard: Guard) => Effect.map(makeWays(guard), ({ fetch }) => fetch)

/** The same, and a `post` beside it that shares its connections (`Services/Outbound.ts`). */
export const makeWays = Effect.fnUntraced(function* (guard: Guard) {
  let connections: ReturnType<typeof open> | undefined
  let closed = false

  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      closed = true
      await (await connections)?.agent.destroy()
    }).pipe(Effect.timeoutOption("1 second"))
  )

  const opened = async () => {
    if (closed) throw new TypeError("fetch failed: the service is stopping")
    connections ??= open(guard)
    return await connections
  }

  const ask: typeof globalThis.fetch = async (input, init) => {
    const signal =
      (init?.signal === undefined && input instanceof Request ? input.signal : init?.signal) ?? undefined
    const first = await outgoing(input, init, signal)
    const { agent, undici } = await opened()
    const redirect = init?.redirect ?? (input instanceof Request ? input.redirect : "follow")
    const send = ({ body, headers, method, url }: Outgoing) =>
      undici.fetch(url, {
        method,
        headers: [...headers],
        body,
        duplex: "half",
        dispatcher: agent,
        redirect: redirect === "follow" ? "manual" : redirect,
        ...(signal === undefined ? {} : { signal })
      })
    return await (redirect === "follow" ? follow(first, send) : send(first))
  }

  const fetch: typeof globalThis.fetch = async (input, init) => {
    try {
      return await ask(input, init)
    } catch (error) {
      const refusal = refusalOf(error)
      throw refusal === undefined ? error : new TypeError(refusal.error, { cause: refusal })
    }
  }

  const post: Outbound["Service"]["post"] = async (url, { body, headers, signal }) => {
    const address = plain(url)
    const { agent, undici } = await opened()
    const sent = { method: "POST", headers: { ...headers }, body, signal, dispatcher: agent } as const
    const { body: answer, statusCode } = await undici.request(address, sent)
    return {
      status: statusCode,
      letGo: (limit, until) => answer.dump({ limit, signal: until }).catch(() => void answer.destroy())
    }
  }
  return { fetch, post }
})

const open = async (guard: Guard) => {
  const undici = await import("@effect/platform-node/Undici")
  const connect = connector(undici.buildConnector, guard)
  return { agent: new undici.Agent({ ...options, connect }), undici }
}
