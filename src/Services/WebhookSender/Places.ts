import type { WebhookDeliveryId, WorkspaceId } from "../../Schemas/Ids.ts"

/** How many are sent at once by a node. */
const most = 512
/** And of one workspace, so that one whose receivers are all slow leaves places to others. */
const mostOfWorkspace = most / 4
/** Bodies of what is being sent may take so much together. */
const mostBytes = 64 * 1_048_576

interface Held {
  readonly workspaceId: WorkspaceId
  bytes: number
}

/** What this node sends now: bounded in all, in bytes, and for each workspace. */
export const make = () => {
  const held = new Map<WebhookDeliveryId, Held>()
  const counts = new Map<WorkspaceId, number>()
  let bytes = 0
  return {
    /** How many more may be begun. */
    free: (): number => (bytes >= mostBytes ? 0 : most - held.size),
    /** The workspaces that have all that one may have. */
    full: (): ReadonlyArray<WorkspaceId> =>
      [...counts].filter(([, count]) => count >= mostOfWorkspace).map(([id]) => id),
    held: (): number => held.size,
    take: (id: WebhookDeliveryId, workspaceId: WorkspaceId): void => {
      held.set(id, { workspaceId, bytes: 0 })
      counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + 1)
    },
    weigh: (id: WebhookDeliveryId, weight: number): void => {
      const place = held.get(id)
      if (place === undefined) return
      bytes += weight - place.bytes
      place.bytes = weight
    },
    giveBack: (id: WebhookDeliveryId): void => {
      const place = held.get(id)
      if (place === undefined) return
      held.delete(id)
      bytes -= place.bytes
      const left = (counts.get(place.workspaceId) ?? 1) - 1
      if (left === 0) counts.delete(place.workspaceId)
      else counts.set(place.workspaceId, left)
    }
  }
}

export type Places = ReturnType<typeof make>
