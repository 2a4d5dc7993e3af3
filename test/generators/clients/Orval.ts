import { type ChatEvent, chatSend, type RunEvent, runsEvents } from "../generated/orval.ts"
import { type ChatReader, nothing, type Seen } from "./ChatReader.ts"
import { frames } from "./Frames.ts"
import { connect } from "./OrvalFetch.ts"

const take = (seen: Seen, { data, event, id }: ChatEvent | RunEvent) => {
  seen.ids.push(id)
  seen.names.push(event)
  if (event === "conversation") seen.turnId = data.turnId
  if (event === "status" && data.status === "responding") seen.text += data.delta
  if (event === "done" && "message" in data) seen.reply = data.message.content
}

/** Its types say what the data of an event is; the stream is what our own fetch hands out. */
const bodyOf = (data: object) => data as unknown as ReadableStream<Uint8Array<ArrayBuffer>>

export const reader: ChatReader = {
  send: async (given, message, most = Number.POSITIVE_INFINITY) => {
    connect(given)
    const seen = nothing()
    const answer = await chatSend(message)
    if (answer.status !== 200) throw new Error(answer.data.error)
    for await (const event of frames<ChatEvent>(bodyOf(answer.data))) {
      take(seen, event)
      if (seen.ids.length >= most) break
    }
    return seen
  },
  resume: async (given, turnId, lastId) => {
    connect(given)
    const seen = nothing()
    const answer = await runsEvents(turnId, { headers: { "last-event-id": String(lastId) } })
    if (answer.status === 204) return seen
    if (answer.status !== 200) throw new Error(answer.data.error)
    for await (const event of frames<RunEvent>(bodyOf(answer.data))) take(seen, event)
    return seen
  }
}
