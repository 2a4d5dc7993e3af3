import { Chat } from "@ai-sdk/react"
import { DefaultChatTransport, type UIMessage } from "ai"
import * as Effect from "effect/Effect"
import { makeTenant } from "./Service.ts"
import { dataOf, makeWeb } from "./Web.ts"

type Init = ConstructorParameters<typeof Chat<UIMessage>>[0]

/** What was said of a message, without the steps that it was said in. */
export const textOf = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("")

export const toolsOf = (message: UIMessage | undefined) =>
  (message?.parts ?? []).flatMap((part) => (part.type === "dynamic-tool" ? [part] : []))

/** The chat of the AI SDK at this face, as it comes, and what a page asks beside it. */
export const makeUi = Effect.gen(function* () {
  const { fetch, send } = yield* makeWeb
  const tenant = yield* makeTenant()
  const { token } = tenant
  const requests: Array<{ readonly method: string; readonly path: string; readonly status: number }> = []
  const ask = async (url: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(String(url), init)
    const path = new URL(String(url)).pathname
    requests.push({ method: init?.method ?? "GET", path, status: response.status })
    return response
  }
  const make = (
    id: string,
    init: Omit<Init, "id" | "transport"> & { readonly body?: object; readonly agent?: string } = {}
  ) => {
    const { agent = "default", body, ...rest } = init
    return new Chat<UIMessage>({
      ...rest,
      id,
      transport: new DefaultChatTransport({
        api: `http://agentd.test/api/ui/${agent}/chat`,
        headers: { authorization: `Bearer ${token}` },
        ...(body !== undefined && { body }),
        fetch: ask
      })
    })
  }
  const at = (id: string) => `/api/ui/default/chat/${encodeURIComponent(id)}`
  return {
    ...tenant,
    requests,
    send,
    make,
    stop: (id: string) => send("POST", `${at(id)}/stop`, { token }),
    stream: (id: string) => send("GET", `${at(id)}/stream`, { token }),
    /** As a page asks for them when it is loaded. */
    load: (id: string) =>
      Effect.map(
        send("GET", at(id), { token }),
        ({ body }) => (body as { messages: Array<UIMessage> }).messages
      ),
    conversations: Effect.map(
      send("GET", `/api/chat/conversations?workspaceId=${tenant.workspaceId}`, { token }),
      (answer) => dataOf<ReadonlyArray<{ readonly id: string; readonly title: string }>>(answer)
    )
  }
})
