import { once } from "node:events"
import { type AddressInfo, connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { makeServer } from "../../../src/Layers/Server/NodeServer.ts"

/** All that is answered on a connection on which this is sent, and the paths that were asked for. */
const exchange = async (sent: string, isReady = true) => {
  const { closeQuiet, server } = makeServer()
  const asked: Array<string | undefined> = []
  if (isReady) {
    server.on("request", (request, response) => {
      asked.push(request.url)
      request.resume().on("end", () => response.end("ok"))
    })
  }
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  try {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    let text = ""
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk
    })
    socket.on("error", () => {})
    socket.end(Buffer.from(sent, "latin1"))
    await once(socket, "close")
    return { text, asked }
  } finally {
    closeQuiet()
    server.closeAllConnections()
    server.close()
  }
}

const post = (...headers: ReadonlyArray<string>) =>
  `POST /first HTTP/1.1\r\nHost: x\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

/** What two servers may read in two ways, one of them as another request (RFC 9112, 11.2). */
const ambiguous: Readonly<Record<string, string>> = {
  "a length beside chunks": `${post("Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n${smuggled}`,
  "chunks beside a length": `${post("Transfer-Encoding: chunked", `Content-Length: ${smuggled.length}`)}0\r\n\r\n${smuggled}`,
  "an unknown coding": `${post("Transfer-Encoding: xchunked", "Content-Length: 0")}${smuggled}`,
  "chunks that are not the last coding": `${post("Transfer-Encoding: chunked, identity")}0\r\n\r\n${smuggled}`,
  "two lengths": `${post("Content-Length: 0", `Content-Length: ${smuggled.length}`)}${smuggled}`,
  "a length with a sign": `${post("Content-Length: +0")}${smuggled}`,
  "a blank before the colon": `${post(`Content-Length : ${smuggled.length}`)}${smuggled}`,
  "a header over two lines": `${post("X-A: b", ` Content-Length: ${smuggled.length}`)}${smuggled}`,
  "lines that end in LF": `GET /first HTTP/1.1\nHost: x\n\n${smuggled}`,
  "a CR within a header": `${post(`X-A: b\rContent-Length: ${smuggled.length}`)}${smuggled}`,
  "a NUL within a header": `${post("X-A: b\0c")}${smuggled}`,
  "a chunk of a size that is none": `${post("Transfer-Encoding: chunked")}-1\r\n\r\n0\r\n\r\n${smuggled}`,
  "a chunk extension that ends in LF": `${post("Transfer-Encoding: chunked")}2;\nxx\r\n0\r\n\r\n${smuggled}`
}

describe("what is no HTTP, or is it in two ways,", () => {
  for (const [what, sent] of Object.entries(ambiguous)) {
    it(`is a 400 that ends the connection: ${what}`, async () => {
      const { asked, text } = await exchange(sent)
      assert.match(text, /HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\nConnection: close\r\n/u)
      assert.strictEqual(text.split("HTTP/1.1 ").length - 1, 1, text)
      assert.match(text, /\r\n\r\n\{"error":"the request is not valid HTTP"\}$/u)
      assert.notInclude(asked, "/smuggled")
    })
  }

  it("has the headers of every answer", async () => {
    const { text } = await exchange("GET / HTTP/9\r\n\r\n")
    assert.match(text, /^content-security-policy: default-src 'none'; base-uri 'none'/mu)
    assert.match(text, /^x-content-type-options: nosniff\r$/mu)
    assert.match(text, /^referrer-policy: no-referrer\r$/mu)
  })
})

it("who did not send a request in time can't keep the connection by sending more of it", async () => {
  const { closeQuiet, server } = makeServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  try {
    // What Node.js would do later is left out: a client that sends a byte now and then waits for nothing of it.
    Object.assign(server, { headersTimeout: 0, requestTimeout: 0, timeout: 0 })
    const accepted = once(server, "connection")
    const client = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true })
    client.on("error", () => {})
    const [socket] = (await accepted) as [Socket]
    client.write("GET / HTTP/1.1\r\nHost: ")
    // As Node.js tells, once, when the time is over.
    const error = Object.assign(new Error("Request timeout"), { code: "ERR_HTTP_REQUEST_TIMEOUT" })
    server.emit("clientError", error, socket)
    const [answer] = await Promise.all([once(client, "data"), once(socket, "close")])
    assert.match(`${answer}`, /^HTTP\/1\.1 408 /u)
    client.destroy()
  } finally {
    closeQuiet()
    server.closeAllConnections()
    server.close()
  }
})

it("no tunnel is made, and nothing is echoed", async () => {
  const { text } = await exchange("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\nsecret")
  assert.match(text, /^HTTP\/1\.1 405 /u)
  assert.notInclude(text, "secret")
})

it("a server that is not ready says so, and over https never to come in the clear", async () => {
  const get = (header: string) => `GET / HTTP/1.1\r\nHost: x\r\n${header}\r\n`
  const { text } = await exchange(get("X-Forwarded-Proto: https\r\n"), false)
  assert.match(text, /^HTTP\/1\.1 503 /u)
  assert.match(text, /^strict-transport-security: max-age=31536000; includeSubDomains\r$/mu)
  assert.notInclude((await exchange(get(""), false)).text, "strict-transport-security")
})
