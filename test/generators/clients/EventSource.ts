import { EventSource } from "eventsource"
import { nothing, type Watch, type Watched } from "./ChatReader.ts"

/** The beginning of a stream up to its `most`th event; there it breaks off. */
const breakingOff = (body: ReadableStream<Uint8Array<ArrayBuffer>>, most: number) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const utf8 = new TextEncoder()
  let left = most
  let text = ""
  return new ReadableStream({
    pull: async (controller) => {
      if (left === 0) {
        await reader.cancel()
        controller.error(new Error("broken off"))
        return
      }
      while (!text.includes("\n\n")) {
        const { done, value } = await reader.read()
        if (done) {
          controller.close()
          return
        }
        text += value
      }
      const end = text.indexOf("\n\n") + 2
      if (text.startsWith("id: ")) left--
      controller.enqueue(utf8.encode(text.slice(0, end)))
      text = text.slice(end)
    }
  })
}

const names = ["conversation", "status", "tool_call", "tool_result", "done", "error"]

export const watch: Watch = ({ baseUrl, token }, turnId, most = Number.POSITIVE_INFINITY) =>
  new Promise<Watched>((done) => {
    const seen = nothing()
    const requests: Array<readonly [number, string | undefined]> = []
    const source = new EventSource(`${baseUrl}/api/runs/${turnId}/events`, {
      fetch: async (url, init) => {
        const headers = new Headers({ ...init.headers, authorization: `Bearer ${token}` })
        const response = await fetch(url, { ...init, headers })
        const isFirst = requests.length === 0
        requests.push([response.status, headers.get("last-event-id") ?? undefined])
        return isFirst && response.body !== null
          ? new Response(breakingOff(response.body, most), response)
          : response
      }
    })
    for (const name of names) {
      source.addEventListener(name, (event: Event) => {
        // Its own `error` events have no data: the connection ended, and not the run.
        if (!(event instanceof MessageEvent)) {
          if (source.readyState === source.CLOSED) done({ ...seen, requests })
          return
        }
        const data = JSON.parse(event.data)
        seen.ids.push(Number(event.lastEventId))
        seen.names.push(name)
        if (data.status === "responding") seen.text += data.delta
        if (name === "done") seen.reply = data.message.content
      })
    }
  })
