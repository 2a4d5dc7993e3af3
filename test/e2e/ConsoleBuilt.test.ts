import { readdirSync, readFileSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { builtConsole, firstView, gzipped, textsOf } from "../support/ConsoleBuilt.ts"

/** Names in texts that nobody asks for anything: of formats and of markup. */
const names = [
  /^http:\/\/www\.w3\.org\/(1998\/Math\/MathML|1999\/xlink|1999\/xhtml|2000\/svg|XML\/1998\/namespace)$/u
]

/** What connectors are for: the service asks there, if somebody makes one. */
const registry = readFileSync(resolve(import.meta.dirname, "../../src/Schemas/ConnectorRegistry.ts"), "utf8")

/** Reserved for examples (RFC 2606), as fields show them, and as Effect tries what a browser can do. */
const examples = [/^https?:\/\/([\w-]+\.)*example\.(com|net|org)(\/|$)/u]

describe("the console, as it is built", () => {
  let folder = ""
  let texts: ReadonlyMap<string, string> = new Map()
  beforeAll(async () => {
    folder = await builtConsole()
    texts = textsOf(folder)
  })

  it("has at most 150 KB of gzip in its first view, with the list of runs", () => {
    const first = firstView(texts)
    const sizes = Object.fromEntries(first.map((name) => [name, gzipped(texts.get(name) ?? "")]))
    assert.isTrue(
      first.some((name) => /^Runs-.*\.js$/u.test(name)),
      `the runs are among ${first.join(", ")}`
    )
    const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0)
    assert.isAtMost(bytes, 150 * 1024, JSON.stringify(sizes, null, 1))
  })

  it("loads plots for the usage alone", () => {
    const first = firstView(texts)
    const withPlots = [...texts].filter(([, text]) => text.includes("u-legend")).map(([name]) => name)
    assert.deepStrictEqual(
      withPlots.filter((name) => first.includes(name)),
      []
    )
  })

  it("names its parts by their content, and nothing but its page otherwise", () => {
    for (const name of readdirSync(folder)) {
      if (name === "made-of" || name.startsWith("index.html")) continue
      assert.match(name, /^[\w-]+-[\w-]{8}\.(css|js|svg)(\.br|\.gz)?$/u)
    }
  })

  it("has nothing of its own in the page: no script, no style, no handler", () => {
    const html = texts.get("index.html") ?? ""
    assert.notMatch(html, /<style|<script(?![^>]*\bsrc=)|\bstyle=|\bon\w+=|javascript:|<base|<iframe/iu)
    for (const [, address = ""] of html.matchAll(/(?:src|href)="([^"]*)"/gu))
      assert.match(address, /^\/(console\/[\w.-]+|favicon\.ico)$/u)
  })

  it("names no other host", () => {
    const found = [...texts].flatMap(([name, text]) =>
      [...text.matchAll(/\b(?:https?|wss?):\/\/[^\s"'`)<>\\]*/giu)].map(([address]) => ({ name, address }))
    )
    const foreign = found.filter(
      ({ address }) =>
        !registry.includes(address) && ![...names, ...examples].some((known) => known.test(address))
    )
    assert.deepStrictEqual(foreign, [])
    for (const [name, text] of texts) {
      if (name.endsWith(".css"))
        assert.notMatch(text, /@import|url\(\s*["']?(?!\/console\/|\.?\/|data:|#)/iu, name)
      assert.notMatch(text, /["'`]\/\/[a-z0-9-]+\.[a-z]{2,}/iu, name)
    }
  })

  it("ships no sources, no map of them and no path of this machine", () => {
    const root = resolve(import.meta.dirname, "../..")
    for (const name of readdirSync(folder)) assert.notMatch(name, /\.(map|tsx?)(\.|$)/u)
    for (const [name, text] of texts) {
      assert.notMatch(text, /sourceMappingURL|sourceURL/u, name)
      for (const path of [root, homedir(), "node_modules"]) assert.notInclude(text, path, name)
    }
  })

  it("is small enough to be kept in memory", () => {
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
    assert.isBelow(bytes, 4 * 1024 * 1024)
  })
})
