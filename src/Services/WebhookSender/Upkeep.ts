import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { CronFireRepo } from "../CronFireRepo.ts"
import * as Metrics from "../Metrics.ts"
import { inBatches, regularly } from "../Regularly.ts"
import { Settings } from "../Settings.ts"
import { WebhookOutbox } from "../WebhookOutbox.ts"

const backlogMillis = 15_000
const pruneMillis = 60_000
const pruneAtOnce = 200

/** Looks at the backlog while there are webhooks, and forgets deliveries that are old. */
export const start = Effect.fnUntraced(function* (isUsed: () => boolean) {
  const outbox = yield* WebhookOutbox
  const fires = yield* CronFireRepo
  const { webhookMillis } = yield* Settings

  const show = ({ oldestSeconds, pending }: { readonly oldestSeconds: number; readonly pending: number }) =>
    Effect.andThen(
      Metric.update(Metrics.webhookBacklog, pending),
      Metric.update(Metrics.webhookOldest, oldestSeconds)
    )
  const look = Effect.suspend(() =>
    isUsed() ? Effect.flatMap(outbox.backlog, show) : show({ pending: 0, oldestSeconds: 0 })
  )
  // By the clock of the store, which has written when they were made.
  const prune = Effect.flatMap(fires.now, (at) =>
    inBatches(outbox.prune(new Date(at.getTime() - webhookMillis), pruneAtOnce), pruneAtOnce)
  )
  yield* regularly(look, backlogMillis, "the backlog of webhooks is not known")
  yield* regularly(prune, pruneMillis, "old deliveries of webhooks not forgotten")
})
