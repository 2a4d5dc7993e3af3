import { once } from "node:events"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { builtConsole, firstView, textsOf } from "../support/ConsoleBuilt.ts"
import { makeDataDir, type Server, startServer } from "../support/Process.ts"

const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

describe("the console of the service that runs", () => {
  const dataDir = makeDataDir()
  let server: Server
  let texts: ReadonlyMap<string, string>
  beforeAll(async () => {
    texts = textsOf(await builtConsole())
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
  })
  afterAll(async () => {
    await server.stop("SIGKILL")
    dataDir.remove()
  })

  /** Sends a path as it is, which `fetch` would make plain, and decodes nothing of what comes back. */
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") => {
    const { hostname, port } = new URL(server.baseUrl)
    const socket = connect(Number(port), hostname)
    await once(socket, "connect")
    const lines = Object.entries({ host: hostname, connection: "close", ...headers })
    socket.write(
      `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`
    )
    const all = await text(socket.setEncoding("latin1"))
    const [head = "", ...rest] = all.split("\r\n\r\n")
    const [first = "", ...fields] = head.split("\r\n")
    const own = fields.map((line): [string, string] => {
      const [name = "", ...value] = line.split(": ")
      return [name.toLowerCase(), value.join(": ")]
    })
    return {
      status: Number(first.split(" ")[1]),
      headers: new Headers(own),
      body: Buffer.from(rest.join("\r\n\r\n"), "latin1")
    }
  }

  it("is what was built, whole, in every encoding", async () => {
    const page = await ask("/", { accept })
    assert.strictEqual(page.body.toString(), texts.get("index.html"))
    for (const name of firstView(texts).filter((each) => each !== "index.html")) {
      const path = `/console/${name}`
      const plain = await ask(path)
      assert.strictEqual(plain.status, 200)
      assert.strictEqual(plain.body.toString(), texts.get(name))
      assert.strictEqual(plain.headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.match(plain.headers.get("content-type") ?? "", /^text\/(css|javascript); charset=utf-8$/u)
      for (const [encoding, unpack] of [
        ["br", brotliDecompressSync],
        ["gzip", gunzipSync]
      ] as const) {
        const packed = await ask(path, { "accept-encoding": encoding })
        if (plain.body.length < 1_024) continue
        assert.strictEqual(packed.headers.get("content-encoding"), encoding, name)
        assert.strictEqual(packed.headers.get("vary"), "Accept-Encoding")
        assert.isTrue(unpack(packed.body).equals(plain.body), name)
        assert.isBelow(packed.body.length, plain.body.length)
      }
      const head = await ask(path, {}, "HEAD")
      assert.deepStrictEqual([head.status, head.body.length], [200, 0])
      assert.strictEqual(head.headers.get("content-length"), `${plain.body.length}`)
    }
  })

  it("is asked for again only when it has changed", async () => {
    const { headers } = await ask("/", { accept })
    const again = await ask("/", { accept, "if-none-match": headers.get("etag") ?? "" })
    assert.deepStrictEqual([again.status, again.body.length], [304, 0])
    assert.strictEqual((await ask("/", { accept, "if-none-match": '"of another version"' })).status, 200)
  })

  it("leads to no other file of the machine", async () => {
    const paths = [
      "/console/../main.js",
      "/console/..%2fmain.js",
      "/console/%2e%2e/main.js",
      "/console/..\\main.js",
      "/console/..%5cmain.js",
      "/console//etc/passwd",
      "/console/%2fetc%2fpasswd",
      "/console/made-of",
      "/console/template",
      "/console/index.html.br",
      `/console/${"a".repeat(2_000)}`
    ]
    for (const path of paths) {
      const answer = await ask(path, { accept })
      assert.oneOf(answer.status, [400, 404], path)
      assert.deepStrictEqual(Object.keys(JSON.parse(answer.body.toString())), ["error"], path)
    }
  })

  it("is told of in numbers by method and status alone, however many names were tried", async () => {
    for (let n = 0; n < 20; n += 1) await ask(`/console/tried-${n}.js`)
    const metrics = (await ask("/metrics")).body.toString()
    assert.notInclude(metrics, "tried-")
    assert.notInclude(metrics, "/console")
  })
})
