import { resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { oversizes } from "./support/Sizes.ts"
import { parse, parseAll, read } from "./support/Sources.ts"

const sources = parseAll(read(resolve(import.meta.dirname, "../src")))

const found = (text: string) =>
  oversizes(new Map([["Planted.ts", parse("Planted.ts", text)]])).map(({ line, lines, rule }) => ({
    line,
    lines,
    rule
  }))

const body = (lines: number) => "  yield 1\n".repeat(lines - 1)

const tooLong = { line: 2, lines: 81, rule: "the body of a generator has at most 80 lines" }

describe("the size", () => {
  it("of every file and generator in src is one that can be read", () => {
    assert.isAbove(sources.size, 200)
    const generators = [...sources.values()].flatMap(({ nodes }) =>
      nodes.filter(({ generator }) => generator === true)
    )
    assert.isAbove(generators.length, 200)
    assert.deepStrictEqual(oversizes(sources), [])
  })

  it.each([
    ["const a = Effect.gen(function* () {", "})"],
    ["const a = Effect.fn('a')(function* (b: string = '}') {", "}, Effect.orDie)"],
    ["export function* a() {", "}"],
    ["export async function* a() {", "}"],
    ["const a = { *b() {", "} }"],
    ["class A { static *b() {", "} }"],
    ["const a = '😀'; function* b() {", "}"],
    ["function* a() { return function* () {", "} }"]
  ])("of a generator that is too long is found: %s", (head, tail) => {
    assert.deepStrictEqual(found(`\n${head}\n${body(80)}${tail}\n`), [])
    assert.deepInclude(found(`\n${head}\n${body(81)}${tail}\n`), tooLong)
  })

  it("of a generator counts what stands within it, and what is no generator does not count", () => {
    const inner = `const b = function* () {\n${body(40)}}\n`
    assert.lengthOf(found(`function* a() {\n${inner}${inner}}\n`), 1)
    assert.deepStrictEqual(found(`const a = () => {\n${"  b()\n".repeat(200)}}\n`), [])
  })

  it("of a file that is too long is found", () => {
    const rule = "a file has at most 300 lines"
    assert.deepStrictEqual(found("a()\n".repeat(300)), [])
    assert.deepStrictEqual(found("a()\n".repeat(301)), [{ line: 1, lines: 301, rule }])
    assert.deepStrictEqual(found(`${"a()\n".repeat(300)}a()`), [{ line: 1, lines: 301, rule }])
  })
})
