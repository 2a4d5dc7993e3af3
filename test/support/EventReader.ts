import { parseEvents, type SseEvent } from "./Process.ts"

export interface SeenEvent extends SseEvent {
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number
}

/** A client that reads a stream of events as they come. */
export interface EventReader {
  readonly events: ReadonlyArray<SeenEvent>
  /** The id to take the stream up with. */
  readonly lastId: () => number
  /** How it ended: in order or broken off; undefined while it is open. */
  readonly ended: () => "whole" | "broken" | undefined
  /** Resolves when it has ended. */
  readonly end: Promise<"whole" | "broken">
  readonly leave: () => void
}

/** The answer is no stream of events. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Sends the request; fails if the answer is no stream of events. */
export const readEvents = async (
  url: string,
  token: string,
  options: { readonly json?: object; readonly lastEventId?: number } = {}
): Promise<EventReader> => {
  const aborter = new AbortController()
  const answer = await fetch(url, {
    method: options.json === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(options.json !== undefined && { "content-type": "application/json" }),
      ...(options.lastEventId !== undefined && { "last-event-id": String(options.lastEventId) })
    },
    signal: aborter.signal,
    ...(options.json !== undefined && { body: JSON.stringify(options.json) })
  })
  if (answer.status !== 200 || answer.body === null) {
    throw new Refused(answer.status, `${url}: ${answer.status} ${await answer.text()}`)
  }
  const { body } = answer
  const events: Array<SeenEvent> = []
  let ended: "whole" | "broken" | undefined
  const read = async () => {
    let text = ""
    try {
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        const at = Date.now()
        text += chunk
        const whole = text.lastIndexOf("\n\n") + 2
        if (whole < 2) continue
        for (const event of parseEvents(text.slice(0, whole))) events.push({ ...event, at })
        text = text.slice(whole)
      }
      ended = "whole"
    } catch {
      ended = "broken"
    }
    return ended
  }
  return {
    events,
    lastId: () => events.at(-1)?.id ?? 0,
    ended: () => ended,
    end: read(),
    leave: () => aborter.abort()
  }
}

/** The text of the deltas: an answer that begins again without a tool event in between replaces what it said. */
export const textOf = (events: ReadonlyArray<SseEvent>): string => {
  let text = ""
  let answer = ""
  for (const { data, event } of events) {
    if (event === "tool_call" || event === "tool_result") {
      text += answer
      answer = ""
    }
    if (data.status === "thinking") answer = ""
    if (data.status === "responding") answer += data.delta
  }
  return text + answer
}
