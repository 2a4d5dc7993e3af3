import type { IncomingHttpHeaders } from "node:http"
import { Webhook } from "standardwebhooks"
import { listen } from "./ToolServer.ts"

/** A message as it came, before anybody has looked at its signature. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The bytes that were signed. */
  readonly body: string
  /** `webhook-id`. */
  readonly id: string
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: what a receiver in any language sees
  readonly data: any
  readonly at: number
}

/** The status of the answer, or what ends the exchange without one. */
export type Answer = (received: Received) => number | Promise<number>

/** A receiver of webhooks on 127.0.0.1; it keeps what came, in the order in which it came. */
export const startReceiver = async (answer: Answer = () => 204) => {
  const received: Array<Received> = []
  const { base, ...server } = await listen(async (request, response) => {
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += chunk
    const { data, type } = JSON.parse(body)
    const message: Received = {
      path: request.url ?? "",
      headers: request.headers,
      body,
      id: String(request.headers["webhook-id"]),
      type,
      data,
      at: Date.now()
    }
    received.push(message)
    const status = await answer(message)
    response.writeHead(status, { location: "/elsewhere" }).end()
  })
  return { ...server, base, received: received as ReadonlyArray<Received> }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** What the signature of a message is over, as the library of the standard sees it; throws where it is not of this secret. */
export const verified = (secret: string, { body, headers }: Pick<Received, "body" | "headers">): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

export const isSignedBy = (secret: string, message: Pick<Received, "body" | "headers">): boolean => {
  try {
    verified(secret, message)
    return true
  } catch {
    return false
  }
}
