import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { temporaryFolder } from "./PostgresServer.ts"

const modules = resolve(import.meta.dirname, "../mcp/node_modules/@modelcontextprotocol")
const run = promisify(execFile)

/** Suites that need it have this in their names. */
export const isInstalled = existsSync(modules)
export const needed = "npm ci in test/mcp"

/** What the CLI of the inspector prints, and the code it ends with. */
export const inspect = async (url: string, token: string, ...words: ReadonlyArray<string>) => {
  const script = join(modules, "inspector/clients/launcher/build/index.js")
  const target = ["--cli", url, "--transport", "http", "--header", `Authorization: Bearer ${token}`]
  const env = { PATH: process.env.PATH, HOME: temporaryFolder("agentd-inspector-") }
  const { stderr, stdout } = await run(process.execPath, [script, ...target, ...words], { env })
  return { stderr, json: JSON.parse(stdout) }
}

/** The client of the newest version, which the one of the tests' own modules does not speak. */
export const loadModernClient = (): Promise<typeof import("@modelcontextprotocol/client")> =>
  import(join(modules, "client/dist/index.mjs"))

export interface Scenario {
  readonly name: string
  readonly passed: number
  readonly failed: number
}

/** All scenarios for servers, asked of a server that knows who asks by no header of the suite's. */
export const conform = async (target: string, token: string): Promise<ReadonlyArray<Scenario>> => {
  const { hostname, port } = new URL(target)
  const proxy = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` }
    const sent = request({ hostname, port, method: asked.method, path: asked.url, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    sent.on("error", () => answer.destroy())
    answer.on("close", () => sent.destroy())
    asked.pipe(sent)
  })
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done))
  try {
    const url = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`
    const script = join(modules, "conformance/dist/index.js")
    const words = [script, "server", "--url", url, "--suite", "all"]
    // It ends with 1 where something failed.
    const { stdout } = await run(process.execPath, words, {
      cwd: temporaryFolder("agentd-conformance-")
    }).catch((error: { readonly stdout: string }) => error)
    return Array.from(
      stdout.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed/gmu),
      ([, name = "", passed, failed]) => ({ name, passed: Number(passed), failed: Number(failed) })
    )
  } finally {
    proxy.closeAllConnections()
    proxy.close()
  }
}
