import type { WebhookId } from "../../Schemas/Ids.ts"
import type { Attempted } from "../WebhookOutbox.ts"

/** An answer that took no longer came at once. */
const quickMillis = 50
/** So many in a row. */
const enough = 8
const mostKnown = 256

/** Which webhooks answer at once, as far as this node has seen: those that it sent to last. */
export const make = () => {
  const known = new Map<WebhookId, number>()
  return {
    seen: (id: WebhookId, { outcome, result }: Pick<Attempted, "outcome" | "result">): void => {
      const count = known.get(id) ?? 0
      known.delete(id)
      if (outcome.type !== "delivered" || result.durationMs > quickMillis) return
      const [oldest] = known.keys()
      if (known.size >= mostKnown && oldest !== undefined) known.delete(oldest)
      known.set(id, Math.min(count + 1, enough))
    },
    ids: (): ReadonlyArray<WebhookId> => [...known].filter(([, count]) => count >= enough).map(([id]) => id)
  }
}

export type Quick = ReturnType<typeof make>
