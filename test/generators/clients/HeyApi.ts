import { type ChatEventData, chatSend, type RunEventData, runsEvents } from "../generated/hey-api"
import { createClient } from "../generated/hey-api/client"
import { type ChatReader, type Given, nothing, type Seen } from "./ChatReader.ts"

const connect = ({ baseUrl, token }: Given) => createClient({ baseUrl, auth: token })

/** What it yields is the data of the events; their names and ids come beside it. */
const take = (seen: Seen, data: ChatEventData | RunEventData) => {
  if ("turnId" in data) seen.turnId = data.turnId
  if ("status" in data && data.status === "responding") seen.text += data.delta
  if ("message" in data) seen.reply = data.message.content
}

/** Without a limit it tries for ever, also after a refusal and behind the end; a message it would send again. */
const options = (seen: Seen) => ({
  sseMaxRetryAttempts: 1,
  onSseEvent: ({ event, id }: { readonly event?: string; readonly id?: string }) => {
    if (event === undefined) return
    seen.ids.push(Number(id))
    seen.names.push(event)
  }
})

export const reader: ChatReader = {
  send: async (given, body, most = Number.POSITIVE_INFINITY) => {
    const seen = nothing()
    const leaving = new AbortController()
    const { signal } = leaving
    const { stream } = await chatSend({ client: connect(given), body, signal, ...options(seen) })
    for await (const data of stream) {
      take(seen, data)
      if (seen.ids.length >= most) break
    }
    leaving.abort()
    return seen
  },
  resume: async (given, id, lastId) => {
    const seen = nothing()
    const headers = { "last-event-id": String(lastId) }
    const { stream } = await runsEvents({ client: connect(given), path: { id }, headers, ...options(seen) })
    for await (const data of stream) if (typeof data === "object") take(seen, data)
    return seen
  }
}
