import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { read } from "../../../src/Layers/Console/Files.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "agentd-console-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("the files of the console", () => {
  it.effect("are those of known types, with what was made of them, and are kept when the folder goes", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const texts = { "index.html": "<!doctype html>", "a-1.js": "a()", "a-1.js.br": "b", "a-1.js.gz": "g" }
      for (const [name, text] of Object.entries({
        ...texts,
        "made-of": "0",
        "notes.txt": "n",
        "a.map": "{}"
      }))
        writeFileSync(join(path, name), text)
      const files = yield* read(path)
      rmSync(path, { recursive: true })
      assert.deepStrictEqual([...(files ?? new Map()).keys()].sort(), ["a-1.js", "index.html"])
      const script = files?.get("a-1.js")
      assert.strictEqual(script?.contentType, "text/javascript; charset=utf-8")
      assert.deepStrictEqual(
        [script?.body, script?.encoded.br, script?.encoded.gzip].map((bytes) => bytes?.toString()),
        ["a()", "b", "g"]
      )
      const hash = createHash("sha256").update("a()").digest("base64url").slice(0, 22)
      assert.strictEqual(script?.etag, `"${hash}"`)
      assert.deepStrictEqual(files?.get("index.html")?.encoded, {})
    }).pipe(Effect.scoped)
  )

  it.effect("are none where no console was built", () =>
    Effect.gen(function* () {
      const path = yield* folder
      assert.isUndefined(yield* read(join(path, "gone")))
      mkdirSync(join(path, "empty"))
      writeFileSync(join(path, "empty/a-1.js"), "a()")
      assert.isUndefined(yield* read(join(path, "empty")))
    }).pipe(Effect.scoped)
  )
})
