import type * as Schema from "effect/Schema"
import type { NumberedEvent } from "../../../../Schemas/RunEvent.ts"
import { notificationMessage, type RpcId } from "./Messages.ts"

/** How often is told that a text grows. */
const pauseMillis = 1_000

/** What of the events of a run a client is told as progress of its call. */
export interface Progress {
  /** None where it says nothing that a person would read. */
  readonly of: (event: NumberedEvent, at: number) => Schema.JsonObject | undefined
  /** Nothing is told for long: the same again, so that the client knows that there is work. */
  readonly again: () => Schema.JsonObject | undefined
}

/** Numbers grow with those of the events: whoever goes on with the call on another node never says a smaller one. */
export const make = (token: RpcId | undefined): Progress => {
  let progress = 0
  let message = "waiting to begin"
  let length = 0
  let saidAt = Number.NEGATIVE_INFINITY

  const say = (next: number) => {
    if (token === undefined) return undefined
    progress = Math.max(next, Math.round(progress * 1_000 + 1) / 1_000)
    return notificationMessage("notifications/progress", { progressToken: token, progress, message })
  }

  return {
    of: (event, at) => {
      const words = wordsOf(event)
      if (words !== undefined) {
        message = words
        length = 0
        saidAt = Number.NEGATIVE_INFINITY
        return say(event.id)
      }
      const { data } = event.event
      if (!("delta" in data)) return undefined
      length += data.delta.length
      message = `answering (${length} characters)`
      if (at - saidAt < pauseMillis) return undefined
      saidAt = at
      return say(event.id)
    },
    again: () => say(progress)
  }
}

const wordsOf = ({ event: { data, event } }: NumberedEvent): string | undefined => {
  switch (event) {
    case "status":
      if (data.status === "thinking") return "thinking"
      return data.status === "waiting_approval" ? `waiting for the approval ${data.approvalId}` : undefined
    case "tool_call":
      return `calling ${data.name}`
    case "tool_result":
      return `${data.name} ${data.isError ? "failed" : "answered"}`
    default:
      return undefined
  }
}
