import type { EventBatch, NumberedEvent } from "./RunEvent.ts"

/** What an event has besides its text, in bytes. */
const frameBytes = 80

/** About how many bytes an event has as JSON: of a delta, of which there are most, without writing it. */
const bytesOf = ({ event }: NumberedEvent): number => {
  const { data } = event
  if (event.event !== "status") return frameBytes + JSON.stringify(data).length
  return frameBytes + ("delta" in data ? data.delta.length : 0)
}

/** About how many bytes these events have as JSON; of text beyond ASCII there are up to three times as many. */
export const weightOf = (batches: ReadonlyArray<EventBatch>): number => {
  let bytes = 0
  for (const batch of batches) for (const event of batch) bytes += bytesOf(event)
  return bytes
}
