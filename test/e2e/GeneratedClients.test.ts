import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { ChatReader, Given, Watch } from "../generators/clients/ChatReader.ts"
import { folder, isInstalled, load, needed, run } from "../support/Generators.ts"
import { makeDataDir, readCredentials, type Server, startServer } from "../support/Process.ts"

const generated = join(folder, "generated")
const content = "call current_time {}\ncall recall {}"

describe.skipIf(!isInstalled)(`clients that others generate from the served document (${needed})`, () => {
  const dataDir = makeDataDir()
  let server: Server
  let given: Given
  let workspaceId: string
  beforeAll(async () => {
    server = await startServer({ AGENTD_DATA_DIR: dataDir.path })
    const credentials = readCredentials(dataDir.path)
    workspaceId = credentials.workspaceId
    given = { baseUrl: server.baseUrl, token: credentials.token }
    rmSync(generated, { recursive: true, force: true })
    mkdirSync(generated)
    const document = await (await fetch(`${server.baseUrl}/openapi.json`)).text()
    writeFileSync(join(generated, "openapi.json"), document)
    const input = "./generated/openapi.json"
    for (const { output, status } of [
      run("openapi-typescript/bin/cli.js", input, "-o", "generated/openapi.ts"),
      run("@hey-api/openapi-ts/bin/run.js", "-i", input, "-o", "generated/hey-api"),
      run("orval/dist/bin/orval.mjs", "--config", "orval.config.mjs")
    ]) {
      assert.strictEqual(status, 0, output)
    }
  })
  afterAll(async () => {
    await server?.stop("SIGKILL")
    dataDir.remove()
  })

  it("have types for the events: programs that use them compile", () => {
    const { output, status } = run("typescript/bin/tsc", "-p", ".")
    assert.strictEqual(status, 0, output)
  })

  it.each(["OpenapiTypescript", "HeyApi", "Orval"])(
    "read a chat to its end, break off and take it up again: %s",
    async (name) => {
      const { reader } = (await load(`clients/${name}.ts`)) as { readonly reader: ChatReader }
      const message = { workspaceId, content }
      const whole = await reader.send(given, message)
      assert.deepStrictEqual(
        whole.ids,
        whole.ids.map((_, index) => index + 1)
      )
      assert.deepStrictEqual(
        whole.names.filter((event) => event !== "status"),
        ["conversation", "tool_call", "tool_call", "tool_result", "tool_result", "done"]
      )
      assert.isNotEmpty(whole.text)
      assert.strictEqual(whole.reply, whole.text)
      assert.deepStrictEqual((await reader.resume(given, whole.turnId ?? "", whole.ids.length)).ids, [])

      const first = await reader.send(given, message, 4)
      assert.lengthOf(first.ids, 4)
      const rest = await reader.resume(given, first.turnId ?? "", 4)
      assert.deepStrictEqual([...first.names, ...rest.names], whole.names)
      assert.deepStrictEqual([...first.ids, ...rest.ids], whole.ids)
      assert.strictEqual(first.text + rest.text, rest.reply)
    }
  )

  it("end with a 204 where an EventSource would connect for ever", async () => {
    const { watch } = (await load("clients/EventSource.ts")) as { readonly watch: Watch }
    const { reader } = (await load("clients/OpenapiTypescript.ts")) as { readonly reader: ChatReader }
    const whole = await reader.send(given, { workspaceId, content })
    const last = whole.ids.length
    const watched = await watch(given, whole.turnId ?? "")
    assert.deepStrictEqual(watched.names, whole.names)
    assert.strictEqual(watched.reply, watched.text)
    assert.deepStrictEqual(watched.requests, [
      [200, undefined],
      [204, `${last}`]
    ])

    const brokenOff = await watch(given, whole.turnId ?? "", 3)
    assert.deepStrictEqual(brokenOff.ids, whole.ids)
    assert.deepStrictEqual(brokenOff.requests, [
      [200, undefined],
      [200, "3"],
      [204, `${last}`]
    ])
  })
})
