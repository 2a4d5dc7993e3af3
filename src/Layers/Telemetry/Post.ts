import { promisify } from "node:util"
import { gzip } from "node:zlib"
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import type { Destination } from "../../Schemas/Telemetry.ts"
import { version } from "../../Schemas/Version.ts"

/** What came of a request to the collector. */
export type Answer =
  | { readonly _tag: "Taken" }
  | { readonly _tag: "Refused"; readonly reason: string }
  /** Worth to be tried again, after so long if the collector has said it. */
  | { readonly _tag: "Away"; readonly reason: string; readonly afterMillis: number | undefined }

/** Of an answer no more is read than this, and nothing of it is kept. */
const longestAnswer = 65_536
const longestWaitMillis = 60_000

const compress = promisify(gzip)

/** Those of the specification of OTLP/HTTP. */
const transient: ReadonlyArray<number> = [429, 502, 503, 504]

const secondsOf = (header: string | null): number | undefined => {
  if (header === null) return undefined
  if (/^\d{1,9}$/u.test(header)) return Math.min(Number(header) * 1000, longestWaitMillis)
  const millis = /GMT$/u.test(header) ? Date.parse(header) - Date.now() : Number.NaN
  return Number.isFinite(millis) ? Math.min(Math.max(millis, 0), longestWaitMillis) : undefined
}

const answerOf = ({ headers, status }: Response): Answer => {
  if (status >= 200 && status < 300) return { _tag: "Taken" }
  const reason = `the collector has answered ${status}`
  return transient.includes(status)
    ? { _tag: "Away", reason, afterMillis: secondsOf(headers.get("retry-after")) }
    : { _tag: "Refused", reason }
}

/** To the end, so that the connection can be used again; of one that does not come to its end the connection is closed. */
const drain = async ({ body }: Response): Promise<void> => {
  if (body === null) return
  let length = 0
  for await (const piece of body) {
    length += piece.byteLength
    if (length > longestAnswer) break
  }
}

/**
 * One request to a collector, in the time that it has, answer included. Goes where the operator says, past the guard
 * of addresses that users set, with no span and no `traceparent`; redirects are not followed. Never fails.
 */
export const make = (destination: Destination) => {
  const { compression, headers, protocol, timeoutMillis, url } = destination
  const away = (reason: string): Answer => ({ _tag: "Away", reason, afterMillis: undefined })
  const send = async (bytes: Uint8Array, signal: AbortSignal, heard: (answer: Answer) => void) => {
    const body = compression === "gzip" ? await compress(bytes) : bytes
    const response = await fetch(url, {
      method: "POST",
      headers: [
        ["user-agent", `OTel-OTLP-Exporter-agentd/${version}`],
        ...headers.map(([name, value]): [string, string] => [name, value]),
        ["content-type", protocol === "http/json" ? "application/json" : "application/x-protobuf"],
        ...(compression === "gzip" ? [["content-encoding", "gzip"] as [string, string]] : [])
      ],
      body: new Uint8Array(body),
      redirect: "manual",
      signal
    })
    // What has been taken stays taken, whatever follows and however long that takes.
    heard(answerOf(response))
    await drain(response)
  }
  return (body: HttpBody.HttpBody): Effect.Effect<Answer> =>
    Effect.suspend(() => {
      let answer: Answer | undefined
      const heard = (given: Answer) => {
        answer = given
      }
      return Effect.tryPromise((signal) => send(bytesOf(body), signal, heard)).pipe(
        Effect.timeoutOption(timeoutMillis),
        Effect.as(`the collector has not answered within ${timeoutMillis} ms`),
        Effect.catch(() => Effect.succeed("the collector can't be reached")),
        Effect.map((reason) => answer ?? away(reason))
      )
    })
}

const bytesOf = (body: HttpBody.HttpBody): Uint8Array => {
  if (body._tag !== "Uint8Array") throw new Error(`a body is ${body._tag}`)
  return body.body
}
