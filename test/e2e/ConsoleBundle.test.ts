import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { copiedTree } from "../support/CopiedTree.ts"
import { makeDataDir, startServer } from "../support/Process.ts"

const html = { headers: { accept: "text/html" } }

/** What `npm ci` and `npm start` make of the console's sources. */
describe("the console of a bundle", () => {
  const folder = copiedTree(["console", "tsconfig.json"])
  const dataDir = makeDataDir()
  afterAll(() => {
    Fs.rmSync(folder, { recursive: true, force: true })
    dataDir.remove()
  })
  const path = (name: string) => join(folder, name)
  const change = (name: string, edit: (text: string) => string) =>
    Fs.writeFileSync(path(name), edit(Fs.readFileSync(path(name), "utf8")))

  const build = (...words: ReadonlyArray<string>) => {
    // The npm that runs this test may be one whose warnings an installation explains.
    const { npm_config_user_agent: _, ...env } = process.env
    const { status, stderr } = spawnSync(process.execPath, ["scripts/build.mjs", ...words], {
      cwd: folder,
      encoding: "utf8",
      env
    })
    return { status, stderr }
  }
  const newest = () =>
    Fs.readdirSync(path("dist"))
      .map((name) => path(`dist/${name}`))
      .sort((a, b) => Fs.statSync(b).mtimeMs - Fs.statSync(a).mtimeMs)[0] ?? ""
  const consoleOf = (bundle: string) => {
    const files = Fs.existsSync(join(bundle, "console")) ? Fs.readdirSync(join(bundle, "console")) : []
    return files.filter((name) => name.endsWith(".js")).sort()
  }

  it("is built with it, and again when its own sources have changed", () => {
    assert.deepStrictEqual(build(), { status: 0, stderr: "" })
    const first = newest()
    const built = consoleOf(first)
    assert.isAbove(built.length, 5)
    change("console/src/main.tsx", (text) => `${text}\ndocument.title = "changed"\n`)
    assert.strictEqual(build().status, 0)
    assert.notStrictEqual(newest(), first)
    assert.notDeepEqual(consoleOf(newest()), built)
  })

  it("is taken over from an earlier bundle where only the service has changed", () => {
    const built = consoleOf(newest())
    change("src/main.ts", (text) => `${text}\n`)
    // Whatever would be built now would fail.
    Fs.rmSync(path("node_modules/vite"))
    const before = newest()
    assert.strictEqual(build().status, 0)
    assert.notStrictEqual(newest(), before)
    assert.deepStrictEqual(consoleOf(newest()), built)
  })

  it("is left out without its tools, which an installation says and survives", () => {
    change("console/src/main.tsx", (text) => `${text}\ndocument.title = "again"\n`)
    const { status, stderr } = build("--if-possible")
    assert.strictEqual(status, 0, stderr)
    assert.strictEqual(stderr, "agentd: the web console was not built: vite is not installed\n")
    assert.deepStrictEqual(consoleOf(newest()), [])
    assert.isTrue(Fs.existsSync(join(newest(), "main.js")))
    assert.isTrue(Fs.existsSync(join(newest(), "template/manifest.json")))
    assert.deepStrictEqual(
      Fs.readdirSync(path("dist")).filter((name) => name.startsWith("new-")),
      []
    )
  })

  it("is left out when it is broken, and what is asked for by name fails", () => {
    const vite = join(import.meta.dirname, "../../node_modules/vite")
    Fs.symlinkSync(vite, path("node_modules/vite"))
    const whole = Fs.readFileSync(path("console/src/main.tsx"), "utf8")
    change("console/src/main.tsx", (text) => `${text}\nimport "./Gone.tsx"\n`)
    const asked = build()
    assert.strictEqual(asked.status, 1)
    assert.match(asked.stderr, /the web console was not built: .*Gone/su)
    const ifPossible = build("--if-possible")
    assert.strictEqual(ifPossible.status, 0)
    assert.match(ifPossible.stderr, /the web console was not built/u)
    Fs.writeFileSync(path("console/src/main.tsx"), whole)
  })

  it("is not needed: the service says at / how to build it, works, and has it when it was built", async () => {
    const env = { AGENTD_DATA_DIR: dataDir.path }
    assert.deepStrictEqual(consoleOf(newest()), [])
    const without = await startServer(env, "node", folder)
    const page = await fetch(without.baseUrl, html)
    assert.strictEqual(page.status, 200)
    assert.include(await page.text(), "npm run build")
    assert.strictEqual((await fetch(`${without.baseUrl}/health/ready`)).status, 200)
    assert.strictEqual(await without.stop("SIGTERM"), 0)

    assert.deepStrictEqual(build(), { status: 0, stderr: "" })
    const server = await startServer(env, "node", folder)
    assert.include(await (await fetch(server.baseUrl, html)).text(), '<div id="app">')
    assert.strictEqual(await server.stop("SIGTERM"), 0)
  })
})
