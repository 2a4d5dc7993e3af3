import { globSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, it } from "@effect/vitest"

const src = resolve(import.meta.dirname, "../src")
const faces = "Layers/Http/Faces/"

it("the faces of other protocols are loaded when they are first asked, by nothing but a dynamic import", () => {
  const files = globSync("**/*.ts", { cwd: src }).filter((file) => !file.startsWith(faces))
  const importing = (pattern: RegExp) =>
    files.filter((file) => pattern.test(readFileSync(resolve(src, file), "utf8")))
  const early = /^(?:import|export)(?! type)[^;]*?\sfrom "[^"]*\/Faces\/(?!Load\.ts)[^"]*"/mu
  assert.deepStrictEqual(importing(early), [])
  assert.sameMembers(importing(/import\("\.\/Faces\//u), [
    "Layers/Http/Mcp.ts",
    "Layers/Http/OpenAi.ts",
    "Layers/Http/TurnAnswers.ts",
    "Layers/Http/UiStream.ts"
  ])
})
