import { request as ask, type IncomingMessage, type ServerResponse } from "node:http"
import { buffer } from "node:stream/consumers"
import { listen } from "./ToolServer.ts"

export interface Passed {
  readonly method: string
  readonly url: string
  /** The address of the node that has answered. */
  readonly node: string
  status: number
}

/**
 * One address for several nodes, as a proxy in front of them gives it: asks the first that answers, in the order that `nodes`
 * has at that moment. An answer whose node dies is cut, and a node whose client goes away is told so.
 */
export const balance = async (nodes: () => ReadonlyArray<string>) => {
  const passed: Array<Passed> = []
  const { base, close } = await listen(async (request, response) => {
    const body = await buffer(request)
    for (const node of nodes()) {
      const answer = await answerOf(node, request, body, response)
      if (answer === undefined) continue
      const status = answer.statusCode ?? 0
      passed.push({ method: request.method ?? "", url: request.url ?? "", node, status })
      response.writeHead(status, answer.rawHeaders)
      response.flushHeaders()
      answer.once("close", () => {
        if (!answer.complete) response.destroy()
      })
      answer.pipe(response)
      return
    }
    response.writeHead(502).end()
  })
  return { base, passed, close }
}

/** Undefined: it does not answer. */
const answerOf = (node: string, request: IncomingMessage, body: Buffer, response: ServerResponse) =>
  new Promise<IncomingMessage | undefined>((done) => {
    const { headers, method = "GET", url } = request
    const passing = ask(new URL(url ?? "/", node), { method, headers, agent: false })
    passing.once("response", done)
    passing.once("error", () => done(undefined))
    response.once("close", () => passing.destroy())
    passing.end(body)
  })
