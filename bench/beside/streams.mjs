/**
 * The least that a chat endpoint can be: it asks the provider with `fetch` and hands on what comes, as it comes. No
 * parsing, no user, nothing kept. `MODEL_URL` is the provider's; it says where it listens.
 */
import { once } from "node:events"
import { createServer } from "node:http"

const { MODEL_URL: model } = process.env

const chat = async (request, response) => {
  let text = ""
  for await (const chunk of request) text += chunk
  const { content } = JSON.parse(text)
  const answer = await fetch(`${model}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "mock", stream: true, messages: [{ role: "user", content }] })
  })
  response.writeHead(200, { "content-type": "text/event-stream" })
  for await (const chunk of answer.body) if (!response.write(chunk)) await once(response, "drain")
  response.end()
}

const server = createServer((request, response) => {
  if (request.method === "POST") chat(request, response).catch(() => response.destroy())
  else response.writeHead(200, { "content-type": "application/json" }).end('{"data":{"status":"ok"}}')
})
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`listening on http://127.0.0.1:${server.address().port}\n`)
})
