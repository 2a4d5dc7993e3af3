import type { InferenceEvent } from "../../Schemas/Inference.ts"
import { type PieceScrub, type Scrubber, scrubJson } from "../../Schemas/Scrub.ts"

type Told = Extract<InferenceEvent, { type: "text" | "reasoning" }>

interface Open {
  readonly last: Told
  readonly pieces: PieceScrub
}

/**
 * The events of one answer without secrets, wherever their texts are cut: what may be the begin of one comes a little
 * later, in front of what follows. Texts of several parts are one, as they are read; thoughts are signed part by part.
 */
export const scrubbed = ({ pieces, text }: Scrubber) => {
  if (pieces === undefined) return (events: ReadonlyArray<InferenceEvent>) => events
  let open: Open | undefined

  const close = (): ReadonlyArray<InferenceEvent> => {
    if (open === undefined) return []
    const { last, pieces } = open
    const { metadata: _, ...told } = last
    open = undefined
    const delta = pieces.end()
    return delta === "" ? [] : [{ ...told, delta }]
  }

  const tell = (event: Told): ReadonlyArray<InferenceEvent> => {
    const goesOn = open?.last.type === event.type && (event.type === "text" || open.last.part === event.part)
    const before = goesOn ? [] : close()
    open = { last: event, pieces: goesOn && open !== undefined ? open.pieces : pieces() }
    const delta = open.pieces.next(event.delta)
    return delta === "" && event.metadata === undefined ? before : [...before, { ...event, delta }]
  }

  return (events: ReadonlyArray<InferenceEvent>): ReadonlyArray<InferenceEvent> =>
    events.flatMap((event) => {
      if (event.type === "text" || event.type === "reasoning") return tell(event)
      if (event.type === "finish") return [...close(), event]
      const { arguments: given, name } = event.call
      const call = { ...event.call, name: text(name), arguments: scrubJson(given, text) }
      return [...close(), { ...event, call }]
    })
}
