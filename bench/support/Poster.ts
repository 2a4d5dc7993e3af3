import { Agent, request } from "node:http"

/** Sends JSON over connections that are kept, at little cost to this process. */
export const makePoster = (baseUrl: string, connections: number, token?: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(baseUrl)
  const headers = {
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` })
  }
  return {
    post: (path: string, body: object) =>
      new Promise<void>((done, failed) => {
        const text = JSON.stringify(body)
        const sent = request(
          {
            agent,
            hostname,
            port,
            path,
            method: "POST",
            headers: { ...headers, "content-length": Buffer.byteLength(text) }
          },
          (answer) => {
            answer.resume()
            answer.once("end", () =>
              answer.statusCode === 201 ? done() : failed(new Error(`POST ${path}: ${answer.statusCode}`))
            )
          }
        )
        sent.once("error", failed)
        sent.end(text)
      }),
    close: () => agent.destroy()
  }
}
