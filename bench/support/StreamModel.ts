/**
 * A model that speaks as OpenAI does and costs next to nothing, as a process of its own:
 *
 * - `fast <tokens>`: so many tokens, `w0 w1 …`, as fast as they are taken, each an HTTP chunk of its own as providers
 *   send them; many share a segment.
 * - `paced <tokens per second>`: tokens until it is told to stop (`POST /stop`), each with its number and when it was
 *   sent, in microseconds of the clock that all processes of this machine have. The last one is the CRC-32 of all before.
 *
 * `GET /sent` says how many paced tokens it has sent.
 */
import { createServer, type Socket } from "node:net"
import { crc32 } from "node:zlib"

const micros = () => Number(process.hrtime.bigint() / 1000n)

const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
const frame = (choices: ReadonlyArray<object>, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "mock", choices, ...more })}\n\n`
const [before, behind] = frame([{ index: 0, delta: { content: "\0" }, finish_reason: null }]).split("\\u0000")
const end = `${frame([{ index: 0, delta: {}, finish_reason: "stop" }])}${frame([], {
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }
})}data: [DONE]\n\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const last = `${chunk(end)}0\r\n\r\n`

const floods = new Map<number, string>()
const flood = (tokens: number): string => {
  const known = floods.get(tokens)
  if (known !== undefined) return known
  const text = Array.from({ length: tokens }, (_, n) => chunk(`${before}w${n} ${behind}`)).join("")
  floods.set(tokens, text)
  return text
}

let sent = 0
const stops = new Set<() => void>()

const paced = (socket: Socket, perSecond: number) => {
  let count = 0
  let sum = 0
  const say = (content: string) => socket.write(chunk(`${before}${content}${behind}`), "latin1")
  const timer = setInterval(() => {
    const content = `${count++}:${micros()} `
    sum = crc32(content, sum)
    sent++
    say(content)
  }, 1000 / perSecond)
  const stop = () => {
    clearInterval(timer)
    stops.delete(stop)
  }
  socket.once("close", stop)
  stops.add(() => {
    if (socket.destroyed) return
    stop()
    say(`=${sum}`)
    socket.end(last, "latin1")
  })
}

const answer = (socket: Socket, request: string) => {
  const [, fast] = /fast (\d+)/.exec(request) ?? []
  const [, perSecond] = /paced (\d+)/.exec(request) ?? []
  if (request.startsWith("GET /sent")) {
    const body = String(sent)
    socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  } else if (request.startsWith("POST /stop")) {
    for (const stop of [...stops]) stop()
    stops.clear()
    socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
  } else if (fast !== undefined) {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
    socket.end(flood(Number(fast)) + last, "latin1")
  } else {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
    paced(socket, Number(perSecond ?? 1))
  }
}

const server = createServer({ noDelay: true }, (socket) => {
  let request = ""
  socket.setEncoding("latin1")
  socket.on("error", () => socket.destroy())
  socket.on("data", (text) => {
    request += text
    const at = request.indexOf("\r\n\r\n")
    if (at === -1) return
    const [, length = "0"] = /^content-length: (\d+)/im.exec(request) ?? []
    const whole = at + 4 + Number(length)
    if (request.length < whole) return
    const asked = request.slice(0, whole)
    request = ""
    answer(socket, asked)
  })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.stdout.write(
    `listening on http://127.0.0.1:${typeof address === "object" ? address?.port : address}\n`
  )
})
