import createClient from "openapi-fetch"
import type { components, paths } from "../generated/openapi.ts"
import { type ChatReader, type Given, nothing, type Seen } from "./ChatReader.ts"
import { frames } from "./Frames.ts"

type ChatEvent = components["schemas"]["ChatEvent"]
type RunEvent = components["schemas"]["RunEvent"]

const connect = ({ baseUrl, token }: Given) =>
  createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })

const take = (seen: Seen, { data, event, id }: ChatEvent | RunEvent) => {
  seen.ids.push(id)
  seen.names.push(event)
  if (event === "conversation") seen.turnId = data.turnId
  if (event === "status" && data.status === "responding") seen.text += data.delta
  if (event === "done" && "message" in data) seen.reply = data.message.content
}

export const reader: ChatReader = {
  send: async (given, body, most = Number.POSITIVE_INFINITY) => {
    const seen = nothing()
    const { data, error } = await connect(given).POST("/api/chat/messages", { body, parseAs: "stream" })
    if (data == null) throw new Error(error?.error)
    for await (const event of frames<ChatEvent>(data)) {
      take(seen, event)
      if (seen.ids.length >= most) break
    }
    return seen
  },
  resume: async (given, id, lastId) => {
    const seen = nothing()
    const { data, error, response } = await connect(given).GET("/api/runs/{id}/events", {
      params: { path: { id }, header: { "last-event-id": String(lastId) } },
      parseAs: "stream"
    })
    if (response.status === 204) return seen
    if (data == null) throw new Error(error?.error)
    for await (const event of frames<RunEvent>(data)) take(seen, event)
    return seen
  }
}
