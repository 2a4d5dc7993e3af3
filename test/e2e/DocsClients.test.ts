import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { rolldown } from "rolldown"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"
import { makeWorkshop, pythonWith, run, snippetsOf } from "../support/Snippets.ts"

const docs = resolve(import.meta.dirname, "../../docs")

/** What each snippet of a page prints, in the order of the page. */
const prints: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<RegExp>>>>> = {
  "openai-node.md": {
    js: [
      /^default\n[\s\S]*offline[\s\S]*current_time returned[\s\S]*offline/,
      /^1 \S+\n[\s\S]*response\.completed\n$/
    ]
  },
  "openai-python.md": {
    py: [/^\['default'[\s\S]*offline[\s\S]*current_time returned[\s\S]*offline/, /offline/]
  },
  "ai-sdk.md": { js: [/offline[\s\S]*sunny in Bonn/, /offline/] },
  "mcp.md": { js: [/send_task get_run[\s\S]*\n.*offline/] },
  "open-webui.md": {
    sh: [/./, /^\{"object":"list","data":\[\{"id":"default"[\s\S]*"usage":\{[\s\S]*data: \[DONE\]/]
  },
  "curl.md": {
    sh: [/"chat\.completion"[\s\S]*event: response\.completed[\s\S]*"type":"finish"[\s\S]*send_task/]
  }
}

/** What no test runs, and why it says so on its page. */
const isRun = (page: string, code: string) => !(page === "open-webui.md" && code.startsWith("docker run"))

const python = { openai: pythonWith("openai"), alone: pythonWith("json") }

describe("docs/clients", () => {
  const dataDir = makeDataDir()
  const workshop = makeWorkshop()
  let server: Server
  let env: { readonly URL: string; readonly TOKEN: string }

  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
    env = { URL: server.baseUrl, TOKEN: readCredentials(dataDir.path).token }
  })
  afterAll(async () => {
    await server?.stop("SIGKILL")
    dataDir.remove()
    workshop.remove()
  })

  const runners: Readonly<Record<string, (code: string, name: string) => ReturnType<typeof run>>> = {
    js: (code, name) => run(process.execPath, [workshop.write(`${name}.mjs`, code)], env),
    py: (code, name) =>
      run(
        python[code.includes("openai") ? "openai" : "alone"] ?? "",
        [workshop.write(`${name}.py`, code)],
        env
      ),
    sh: (code) => run("bash", ["-ec", code], env)
  }

  it("every page is in these tables, and in its list", () => {
    const pages = readdirSync(join(docs, "clients")).filter((name) => name !== "README.md")
    assert.sameMembers(pages, Object.keys(prints))
    const list = readFileSync(join(docs, "clients/README.md"), "utf8")
    for (const page of pages) assert.include(list, `](${page})`)
  })

  for (const [page, languages] of Object.entries(prints)) {
    for (const [language, expected] of Object.entries(languages)) {
      const snippets = snippetsOf(page, language)
      it(`${page} has ${expected.length} in ${language}`, () => {
        assert.strictEqual(snippets.length, expected.length)
      })
      for (const [index, code] of snippets.entries()) {
        if (!isRun(page, code)) continue
        const needsPackage = language === "py" && code.includes("openai import")
        const found = needsPackage ? python.openai : language === "py" ? python.alone : "there"
        const needed = needsPackage ? "the package openai in test/python" : "python3"
        const name = `${page}, ${language} ${index + 1}, runs`
        it.skipIf(found === undefined)(found === undefined ? `${name} (needs ${needed})` : name, async () => {
          const ran = await runners[language]?.(code, `${page}-${index}`)
          assert.strictEqual(ran?.code, 0, ran?.stderr)
          assert.match(ran?.stdout ?? "", expected[index] ?? /^$/)
        })
      }
    }
  }

  it("the configuration of MCP clients says where agentd is and who asks", async () => {
    const [code = ""] = snippetsOf("mcp.md", "json")
    const filled = code.replace(/\$\{(URL|TOKEN)\}/gu, (_, name: "URL" | "TOKEN") => env[name])
    const { headers, type, url } = JSON.parse(filled).mcpServers.agentd
    assert.strictEqual(type, "http")
    const client = new Client({ name: "test", version: "1.0.0" })
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
    await client.connect(transport as Transport)
    assert.isAbove((await client.listTools()).tools.length, 6)
    await client.close()
  })

  it("the page of useChat is made of what there is", async () => {
    const [code = ""] = snippetsOf("ai-sdk.md", "tsx")
    const made = await rolldown({
      input: workshop.write("Chat.tsx", code),
      external: [/^react/],
      platform: "browser",
      logLevel: "silent"
    })
    const { output } = await made.generate({ format: "esm" })
    assert.deepStrictEqual(output[0].exports, ["Chat"])
  })
})
