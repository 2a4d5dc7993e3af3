import { assert, describe, it } from "@effect/vitest"
import { isWithin, makeGlob } from "../../src/Schemas/Glob.ts"

/** What a pattern means, as slow as that may be. */
const means = (pattern: string, text: string): boolean => {
  const [first, ...rest] = pattern
  if (first === undefined) return text === ""
  if (first !== "*") return text.startsWith(first) && means(rest.join(""), text.slice(first.length))
  return means(rest.join(""), text) || (text !== "" && means(pattern, Array.from(text).slice(1).join("")))
}

/** All texts of these characters up to a length. */
const textsOf = (units: ReadonlyArray<string>, length: number): ReadonlyArray<string> =>
  length === 0
    ? [""]
    : ["", ...units.flatMap((unit) => textsOf(units, length - 1).map((rest) => unit + rest))]

describe("globs", () => {
  it("match whole names, with any text for each star", () => {
    const matches: ReadonlyArray<readonly [string, string]> = [
      ["*", ""],
      ["*", "remember"],
      ["remember", "remember"],
      ["github__*", "github__"],
      ["github__*", "github__create_issue"],
      ["*__create_*", "github__create_issue"],
      ["**", "x"],
      ["a*a", "aa"],
      ["*aab*", "aaab"],
      ["*😀*", "x😀y"]
    ]
    for (const [glob, text] of matches) assert.isTrue(makeGlob(glob)(text), `${glob} ${text}`)
    const others: ReadonlyArray<readonly [string, string]> = [
      ["remember", "Remember"],
      ["remember", "remembers"],
      ["a*a", "a"],
      ["github__*", "xgithub__a"],
      ["git.ub", "github"],
      ["gi?hub", "github"],
      ["[a-z]*", "abc"],
      ["a*b*a", "aba_"]
    ]
    for (const [glob, text] of others) assert.isFalse(makeGlob(glob)(text), `${glob} ${text}`)
  })

  it("match what they mean", () => {
    for (const glob of textsOf(["a", "b", "*"], 5)) {
      const matches = makeGlob(glob)
      for (const text of textsOf(["a", "b"], 6)) {
        assert.strictEqual(matches(text), means(glob, text), `${glob} ${text}`)
      }
    }
  })

  it("are only within others that match all that they do", () => {
    const globs = textsOf(["a", "b", "*"], 3)
    const texts = textsOf(["a", "b"], 5)
    const all = new Map(globs.map((glob) => [glob, texts.filter((text) => means(glob, text))]))
    for (const narrow of globs) {
      for (const wide of globs) {
        if (isWithin(narrow, wide))
          assert.includeMembers([...(all.get(wide) ?? [])], [...(all.get(narrow) ?? [])])
      }
    }
  })

  it("look at each character of a hostile name a bounded number of times", () => {
    const glob = makeGlob(`${"*aaaaaaaaab".repeat(15)}*`)
    // Backtracking would take longer than anybody waits.
    assert.isFalse(glob("a".repeat(100_000)))
    assert.isFalse(makeGlob(`${"*a".repeat(100)}*b`)("a".repeat(100_000)))
  })
})
