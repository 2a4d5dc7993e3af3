import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { makeServer } from "../../../src/Layers/Server/NodeServer.ts"

type Answering = (request: IncomingMessage, response: ServerResponse) => void

/** What the server answers to a body of so many chunks of one byte, and how much of it came before that. */
const answerTo = async (pieces: number, head: string, answering: Answering) => {
  const { closeQuiet, server } = makeServer()
  server.on("request", answering)
  server.on("checkContinue", answering)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  try {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    let text = ""
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += chunk
    })
    // What is cut may be cut while it still writes.
    socket.on("error", () => {})
    socket.write(`POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n${head}\r\n`)
    socket.write(`${"1\r\nx\r\n".repeat(pieces)}0\r\n\r\n`)
    await new Promise((closed) => socket.once("close", closed))
    return text
  } finally {
    closeQuiet()
    server.closeAllConnections()
    server.close()
  }
}

const counting: Answering = (request, response) => {
  let bytes = 0
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
  })
  request.on("end", () => response.end(`${bytes} bytes`))
}

describe("a body in many pieces", () => {
  it("is read where they are not too many", async () => {
    assert.match(await answerTo(8_192, "", counting), /^HTTP\/1\.1 200 [\s\S]*8192 bytes/u)
  })

  it("is a 413 in the form of all errors where they are, and the connection ends", async () => {
    for (const pieces of [8_193, 1_000_000]) {
      const text = await answerTo(pieces, "", counting)
      assert.match(text, /^HTTP\/1\.1 413 Content Too Large\r\n/u)
      assert.match(text, /\r\nX-Error-Code: payload_too_large\r\n/u)
      assert.match(text, /\r\n\r\n\{"error":"the request body came in too many pieces"\}$/u)
    }
  })

  it("is cut where it was waited for with 100-continue", async () => {
    const text = await answerTo(1_000_000, "Expect: 100-continue\r\n", counting)
    assert.notInclude(text, "200")
  })
})
