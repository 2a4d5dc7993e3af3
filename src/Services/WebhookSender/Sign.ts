import * as Mac from "effect/crypto/Mac"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { readTraceparent } from "../../Schemas/TraceContext.ts"
import type { StoredWebhook } from "../../Schemas/Webhook.ts"
import { keyOf, signatureOf, signedOf } from "../../Schemas/WebhookSignature.ts"
import { SecretBox, SecretBoxError } from "../SecretBox.ts"
import { Telemetry } from "../Telemetry.ts"
import type { ClaimedDelivery } from "../WebhookOutbox.ts"

/** Keys that are not opened again for each attempt. */
const mostKnown = 1_000

/**
 * The headers of Standard Webhooks for an attempt at a moment, with the trace that the event is of. During a rotation both
 * secrets sign.
 */
export const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const mac = yield* Effect.provide(Mac.Mac, Layer.provide(Mac.layerWebCrypto, SecureRandom.layerWebCrypto))

  /** By what was sealed, which a rotation makes another. */
  const known = new Map<string, Mac.Key>()

  const open = Effect.fnUntraced(function* (webhookId: string, sealed: string) {
    const name = `${webhookId} ${sealed}`
    const found = known.get(name)
    if (found !== undefined) return found
    const bytes = keyOf(Redacted.value(yield* box.open(webhookId, sealed)))
    if (bytes === undefined) return yield* new SecretBoxError({ error: "is none of Standard Webhooks" })
    const key = yield* Effect.orDie(Mac.key(Mac.hmacSha256, bytes))
    if (known.size >= mostKnown) known.clear()
    known.set(name, key)
    return key
  })

  /** That it can't be opened is told with the attempt; that the one before it can't is no reason to send nothing. */
  const keysOf = Effect.fnUntraced(function* (webhook: StoredWebhook, at: Date) {
    const { id, previousSealedSecret, previousUntil, sealedSecret } = webhook
    const current = yield* open(id, sealedSecret)
    if (previousSealedSecret === null || previousUntil === null || previousUntil <= at) return [current]
    const previous = yield* Effect.option(open(id, previousSealedSecret))
    return [current, ...Option.toArray(previous)]
  })

  return Effect.fnUntraced(function* ({ event, webhook }: ClaimedDelivery, body: Uint8Array, at: Date) {
    const seconds = Math.floor(at.getTime() / 1_000)
    const signed = signedOf(event.id, seconds, body)
    const keys = yield* keysOf(webhook, at)
    const tags = yield* Effect.forEach(keys, (key) => Effect.orDie(mac.sign(key, signed)))
    const { propagation } = yield* Telemetry
    const { traceparent } = event
    const isPassedOn = propagation && readTraceparent(traceparent) !== undefined
    return {
      "webhook-id": event.id,
      "webhook-timestamp": String(seconds),
      "webhook-signature": signatureOf(tags),
      ...(isPassedOn && traceparent !== null && { traceparent })
    }
  })
})
