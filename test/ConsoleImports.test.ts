import { readdirSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { violations } from "./support/ConsoleRules.ts"
import { oversizes } from "./support/Sizes.ts"
import { parse, parseAll } from "./support/Sources.ts"

const root = resolve(import.meta.dirname, "..")
const { dependencies } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"))
const files = readdirSync(resolve(root, "console/src"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.\w+$/u.test(file))
  .map((file) => `console/src/${file}`)
/** Each declaration has a line of its own there. */
const mostLinesOfStyles = 700
const textOf = (file: string) => readFileSync(resolve(root, file), "utf8")
const texts = new Map(files.filter((file) => /\.tsx?$/u.test(file)).map((file) => [file, textOf(file)]))
const sources = parseAll(texts)

/** What is found with a line added to one file; a file that is not there is made. */
const foundWith = (file: string, line: string) => {
  const planted = parse(file, `${texts.get(file) ?? ""}\n${line}\n`)
  return violations(new Map([...sources, [file, planted]]), new Set([...files, file]))
    .filter((violation) => violation.file === file)
    .map(({ rule }) => rule)
}

describe("the console", () => {
  it("breaks no rule", () => {
    assert.isAbove(sources.size, 20)
    assert.deepStrictEqual(violations(sources, new Set(files)), [])
  })

  it("has files and generators of a size that can be read, styles too", () => {
    assert.deepStrictEqual(oversizes(sources), [])
    const styles = files.filter((file) => file.endsWith(".css"))
    assert.isAbove(styles.length, 0)
    assert.deepStrictEqual(
      styles.filter((file) => textOf(file).trimEnd().split("\n").length > mostLinesOfStyles),
      []
    )
  })

  it("is bundled: the service that is installed needs none of its packages", () => {
    const packages = new Set(
      [...sources.values()].flatMap(({ references }) =>
        references
          .filter(({ isRelative }) => !isRelative)
          .map(({ path }) => path.split("/", path.startsWith("@") ? 2 : 1).join("/"))
      )
    )
    assert.deepStrictEqual(
      [...packages].filter((name) => name in dependencies),
      ["effect"]
    )
  })

  it.each([
    ["Client.ts", 'import "../../src/Services/Runs.ts"', "the console knows the contract alone"],
    ["Client.ts", 'import "../../src/Layers/Http.ts"', "the console knows the contract alone"],
    ["Client.ts", 'import "../../scripts/load.mjs"', "the console knows the contract alone"],
    ["Client.ts", 'import "./Gone.ts"', "an import names a file of the console"],
    ["Client.ts", 'import "node:fs"', "the console may not know this package"],
    ["Client.ts", 'import "react"', "the console may not know this package"],
    ["Client.ts", 'import "effect/sql/SqlClient"', "the console may not know this package"],
    ["Client.ts", "const a = import(location.hash)", "the console may not know this package"],
    ["views/Runs/Runs.tsx", 'import "uplot"', "the console may not know this package"],
    ["views/Runs/Runs.tsx", 'import "../Chat/Chat.tsx"', "a view knows no other view"],
    ["views/Runs/Runs.tsx", 'import "../../App.tsx"', "the shell knows its parts"],
    ["ui/Button.tsx", 'import "../Navigation.tsx"', "the shell knows its parts"],
    ["ui/Button.tsx", 'import "../views/Runs/Runs.tsx"', "the table of views alone knows a view"],
    ["Views.ts", 'import "./views/Runs/Runs.tsx"', "a view is loaded when it is looked at"],
    ["Router.ts", 'import "./Client.ts"\nexport * from "./Format.ts"', "a file exports what it makes itself"],
    ["ui/index.ts", "export const a = 1", "no index"],
    ["ui/A.tsx", 'export const A = () => <p dangerouslySetInnerHTML={{ __html: "" }} />', "a text becomes"],
    ["ui/A.tsx", 'document.body.innerHTML = ""', "a text becomes"],
    ["ui/A.tsx", 'document.body["outerHTML"] = ""', "a text becomes"],
    ["ui/A.tsx", 'new Function("a")()', "a text becomes"],
    ["Router.ts", 'import "./App.tsx"', "no circles"]
  ])("may not: %s with %s", (file, line, rule) => {
    const found = foundWith(`console/src/${file}`, line)
    assert.isTrue(
      found.some((words) => words.startsWith(rule)),
      `"${rule}" is not among: ${found.join("; ")}`
    )
  })

  it.each([
    ["views/Usage/Plot.tsx", 'import "uplot"'],
    ["views/Usage/Plot.tsx", 'const load = () => import("uplot")'],
    ["views/Runs/Steps.tsx", 'import type { Run } from "../../../../src/Schemas/Run.ts"'],
    ["Views.ts", 'const a = () => import("./views/Runs/Runs.tsx")']
  ])("may: %s with %s", (file, line) => assert.deepStrictEqual(foundWith(`console/src/${file}`, line), []))
})
