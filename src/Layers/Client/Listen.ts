import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import * as Clock from "effect/Clock"
import * as Mac from "effect/crypto/Mac"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { shortOf } from "../../Schemas/Shown.ts"
import { keyOf, signedOf, tagsOf, toleranceSeconds } from "../../Schemas/WebhookSignature.ts"
import { writeStderr, writeStdout } from "../Output.ts"
import { ClientError } from "./Connection.ts"

const host = "127.0.0.1"
/** More than the service sends of any event. */
const mostBytes = 1_048_576
/** A request that has not come within this is dropped. */
const requestMillis = 20_000

/** A request that came, and the body that was read of it. */
export interface Received {
  readonly method: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Undefined: it is longer than anything that the service sends. */
  readonly body: Uint8Array | undefined
}

/** What is answered, and what is printed: of a delivery, or why it is none. */
export interface Judged {
  readonly status: 204 | 400 | 401 | 405 | 413
  readonly id: string | null
  readonly type: string | null
  readonly timestamp: string | null
  readonly problem: string | null
  readonly data: unknown
}

/**
 * Judges requests as receivers of webhooks have to (CONTRACT.md section 12): signed with this secret, and within five
 * minutes of this clock. Whatever it is not sure of is 401.
 */
export const makeJudge = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
  const bytes = keyOf(Redacted.value(secret))
  if (bytes === undefined) {
    return yield* new ClientError({
      error: "the secret must be that of a webhook, as it was shown: whsec_ and base64"
    })
  }
  const mac = yield* Effect.provide(Mac.Mac, Layer.provide(Mac.layerWebCrypto, SecureRandom.layerWebCrypto))
  const key = yield* Effect.orDie(Mac.key(Mac.hmacSha256, bytes))

  const problemOf = Effect.fnUntraced(function* (headers: Received["headers"], body: Uint8Array) {
    const [id, seconds, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
      textIn(headers[name])
    )
    if (id === undefined || seconds === undefined || signature === undefined) {
      return "webhook-id, webhook-timestamp or webhook-signature is missing: it is no webhook"
    }
    if (!/^\d{1,12}$/u.test(seconds)) return "webhook-timestamp is no number of seconds"
    const signed = signedOf(id, seconds, body)
    const verified = yield* Effect.forEach(tagsOf(signature), (tag) =>
      Effect.orDie(mac.verify(key, tag, signed))
    )
    if (!verified.includes(true))
      return "the signature is wrong: it was made with another secret, or the body was changed"
    const off = Math.abs((yield* Clock.currentTimeMillis) / 1_000 - Number(seconds))
    return off > toleranceSeconds
      ? `the time stamp is ${Math.round(off)} s off: it was sent long ago, or a clock is wrong`
      : null
  })

  return Effect.fnUntraced(function* ({ body, headers, method }: Received): Effect.fn.Return<Judged> {
    const id = textIn(headers["webhook-id"]) ?? null
    const none = { id, type: null, timestamp: null, data: null }
    if (method !== "POST") return { ...none, status: 405, problem: `a webhook is a POST, not a ${method}` }
    if (body === undefined)
      return { ...none, status: 413, problem: `the body is longer than ${mostBytes} bytes` }
    const problem = yield* problemOf(headers, body)
    if (problem !== null) return { ...none, status: 401, problem }
    const payload = parsed(body)
    if (payload === undefined) return { ...none, status: 400, problem: "the body is no JSON object" }
    const { data = null, timestamp, type } = payload
    return { status: 204, id, type: textOrNull(type), timestamp: textOrNull(timestamp), problem: null, data }
  })
})

type Judge = Effect.Success<ReturnType<typeof makeJudge>>

const textIn = (value: Received["headers"][string]): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)

const parsed = (body: Uint8Array): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

/** One line for a person, or of JSON for a program. */
export const lineOf = (judged: Judged, isJson: boolean): string => {
  if (isJson) return JSON.stringify({ ...judged, isVerified: judged.problem === null })
  const { data, id, problem, status, timestamp, type } = judged
  if (problem !== null) return `${status} ${shortOf(id)}: ${problem}`
  return `${shortOf(timestamp)} ${shortOf(type)} ${shortOf(id)} ${shortOf(data)}`
}

const bodyOf = async (request: IncomingMessage): Promise<Uint8Array | undefined> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const open = (server: Server, port: number) =>
  Effect.callback<number, ClientError>((resume) => {
    server.once("error", (error) =>
      resume(Effect.fail(new ClientError({ error: `can't listen on ${host}:${port}: ${error.message}` })))
    )
    server.listen(port, host, () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

/**
 * Receives webhooks on this machine, and prints each, until it is interrupted. The secret is asked for when the address
 * is known.
 */
export const listen = Effect.fn("Client.listen")(function* <R>(options: {
  readonly port: number
  readonly secret: (url: string) => Effect.Effect<Redacted.Redacted, ClientError, R>
  readonly isJson: boolean
}) {
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const judging = yield* Deferred.make<Judge>()
  const server = createServer({ requestTimeout: requestMillis }, async (request, response) => {
    try {
      const { headers, method = "" } = request
      const body = await bodyOf(request)
      const judge = await run(Deferred.await(judging))
      const judged = await run(judge({ method, headers, body }))
      const write = judged.problem === null || options.isJson ? writeStdout : writeStderr
      await run(write(lineOf(judged, options.isJson)))
      response.writeHead(judged.status, judged.status === 413 ? { connection: "close" } : {}).end()
    } catch {
      // The sender has gone away: it tries again.
      response.destroy()
    }
  })
  const port = yield* Effect.acquireRelease(open(server, options.port), () =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
  const url = `http://${host}:${port}/`
  yield* Deferred.succeed(judging, yield* makeJudge(yield* options.secret(url)))
  yield* writeStderr(
    `agentd: receiving webhooks at ${url} until Ctrl-C; ` +
      `a service sends there if its AGENTD_ALLOW_PRIVATE_ADDRESSES allows ${host}`
  )
  return yield* Effect.never
}, Effect.scoped)
