import type { WebhookDeliveryId, WebhookId, WorkspaceId } from "../../Schemas/Ids.ts"
import type { Webhook } from "../../Schemas/Webhook.ts"

/** How many are sent at once by a node. */
const most = 512
/** And of one workspace, so that one whose receivers are all slow leaves places to others. */
const mostOfWorkspace = most / 4
/** Bodies of what is being sent may take so much together. */
const mostBytes = 64 * 1_048_576

interface Held {
  readonly workspaceId: WorkspaceId
  readonly webhookId: WebhookId
  bytes: number
}

/** How many are left. */
const lessOf = <A>(counts: Map<A, number>, of: A): number => {
  const left = (counts.get(of) ?? 1) - 1
  if (left === 0) counts.delete(of)
  else counts.set(of, left)
  return left
}

/** What this node sends now: bounded in all, in bytes, and for each workspace. */
export const make = () => {
  const held = new Map<WebhookDeliveryId, Held>()
  const counts = new Map<WorkspaceId, number>()
  const ofWebhooks = new Map<WebhookId, number>()
  let bytes = 0
  return {
    /** How many more may be begun. */
    free: (): number => (bytes >= mostBytes ? 0 : most - held.size),
    /** The workspaces that have all that one may have. */
    full: (): ReadonlyArray<WorkspaceId> =>
      [...counts].filter(([, count]) => count >= mostOfWorkspace).map(([id]) => id),
    held: (): number => held.size,
    take: (
      id: WebhookDeliveryId,
      { id: webhookId, workspaceId }: Pick<Webhook, "id" | "workspaceId">
    ): void => {
      held.set(id, { workspaceId, webhookId, bytes: 0 })
      counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + 1)
      ofWebhooks.set(webhookId, (ofWebhooks.get(webhookId) ?? 0) + 1)
    },
    weigh: (id: WebhookDeliveryId, weight: number): void => {
      const place = held.get(id)
      if (place === undefined) return
      bytes += weight - place.bytes
      place.bytes = weight
    },
    /** How many more are held of its webhook. */
    giveBack: (id: WebhookDeliveryId): number => {
      const place = held.get(id)
      if (place === undefined) return 0
      held.delete(id)
      bytes -= place.bytes
      lessOf(counts, place.workspaceId)
      return lessOf(ofWebhooks, place.webhookId)
    }
  }
}

export type Places = ReturnType<typeof make>
