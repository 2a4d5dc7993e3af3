import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { version } from "../../Schemas/Version.ts"
import { refusalOf } from "../../Schemas/WebhookAttempts.ts"
import type { WebhookAttempt } from "../../Schemas/WebhookDelivery.ts"
import { failureOf, shown } from "../../Schemas/WebhookFailure.ts"
import { payloadOf } from "../../Schemas/WebhookPayload.ts"
import { monotonicMillis, now } from "../CurrentTime.ts"
import { type Answered, Outbound } from "../Outbound.ts"
import type { ClaimedDelivery } from "../WebhookOutbox.ts"
import * as Sign from "./Sign.ts"

/** From the first packet to the last header of the answer. */
export const limitMillis = 15_000
/** What follows the headers is read so far and so long, since a connection with something unread on it is of no more use. */
const readBytes = 4_096
const readMillis = 1_000

const common = { "content-type": "application/json", "user-agent": `agentd/${version}` }
const utf8 = new TextEncoder()

/** What is sent of an event: the same bytes at each attempt and to each webhook. */
export const bodyOf = (event: ClaimedDelivery["event"]): Uint8Array =>
  utf8.encode(JSON.stringify(payloadOf(event)))

/**
 * One attempt of a delivery: signed, sent, and what came of it. It never fails, and takes 16 s at most. The answer of the
 * receiver is its status alone.
 */
export const make = Effect.gen(function* () {
  const { post } = yield* Outbound
  const sign = yield* Sign.make

  /** The answer, or why there is none. */
  const ask = (url: string, headers: Record<string, string>, body: Uint8Array) =>
    Effect.tryPromise({
      try: (signal) => post(url, { headers, body, signal }),
      catch: failureOf
    }).pipe(
      Effect.timeoutOrElse({
        duration: limitMillis,
        orElse: () => Effect.fail(`the receiver did not answer within ${limitMillis / 1_000} s`)
      })
    )

  return Effect.fnUntraced(function* (
    delivery: ClaimedDelivery,
    weigh: (bytes: number) => void
  ): Effect.fn.Return<WebhookAttempt> {
    const at = yield* now
    const since = yield* monotonicMillis
    const result = (statusCode: number | null, error: string | null) =>
      Effect.map(monotonicMillis, (until) => ({
        at,
        statusCode,
        error,
        durationMs: Math.round(until - since)
      }))
    const { event, webhook } = delivery
    const asked = Effect.gen(function* () {
      const body = bodyOf(event)
      weigh(body.byteLength)
      const headers = { ...common, ...(yield* sign(delivery, body, at)) }
      return yield* ask(webhook.url, headers, body)
    })
    return yield* asked.pipe(
      Effect.flatMap((response) =>
        Effect.flatMap(result(response.status, refusalOf(response.status)), (attempt) =>
          Effect.as(letGo(response), attempt)
        )
      ),
      Effect.catch((failure) =>
        typeof failure === "string"
          ? result(null, failure)
          : Effect.andThen(
              Effect.annotateLogs(Effect.logWarning("a webhook can't be signed"), {
                webhookId: webhook.id,
                error: failure.error
              }),
              result(null, shown(`the secret of the webhook ${failure.error}`))
            )
      ),
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.annotateLogs(Effect.logError("a webhook was not sent", Cause.die(defect)), {
            eventId: event.id
          }),
          result(null, "the message could not be made: this is a fault of the service")
        )
      )
    )
  })
})

/** Reads a short answer to its end, so that its connection serves the next, and drops any other. */
const letGo = (answer: Answered): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.timeoutOption(
      Effect.promise((signal) => answer.letGo(readBytes, signal)),
      readMillis
    )
  )
