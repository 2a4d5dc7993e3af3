import { spawn } from "node:child_process"
import { once } from "node:events"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "vitest"

const at = (path: string) => JSON.stringify(resolve(import.meta.dirname, "../../src", path))

/** A command that does this, and ends as all do. */
const command = (body: string) =>
  spawn(
    process.execPath,
    [
      ...["--no-warnings", "--input-type=module", "--eval"],
      `import * as Effect from "effect/Effect"
      import { writeStderr, writeStdout } from ${at("Layers/Output.ts")}
      import { runMain } from ${at("Layers/Runtime.ts")}
      runMain(Effect.gen(function* () { ${body} }))`
    ],
    { cwd: resolve(import.meta.dirname, "../.."), stdio: ["pipe", "pipe", "pipe"] }
  )

const lines = 20_000

describe("what a command prints", () => {
  it("is complete, however late it is read, also where the command fails and so ends at once", async () => {
    const child = command(`
      yield* Effect.forEach(Array.from({ length: ${lines} }, (_, n) => n + "x".repeat(99)), writeStdout,
        { concurrency: "unbounded", discard: true })
      yield* Effect.fail("too bad")`)
    const ended = once(child, "exit")
    const complaint = text(child.stderr)
    // Nothing is taken before the pipe is full: all of it is more than a pipe holds.
    await once(child.stdout, "readable")
    const read = text(child.stdout)
    assert.deepStrictEqual([await ended, await complaint], [[1, null], "agentd: too bad\n"])
    const found = (await read).split("\n")
    assert.deepStrictEqual(
      [found.length, found.at(-2), found.at(-1)],
      [lines + 1, `${lines - 1}${"x".repeat(99)}`, ""]
    )
  })

  it("is no mistake where its reader has left", async () => {
    const child = command(`
      yield* writeStdout("first")
      yield* Effect.promise(() => process.stdin.toArray())
      yield* writeStdout("second")
      yield* writeStdout("third")
      yield* writeStderr("done")`)
    const ended = once(child, "exit")
    const complaint = text(child.stderr)
    assert.strictEqual(String((await once(child.stdout, "data"))[0]), "first\n")
    const closed = once(child.stdout, "close")
    child.stdout.destroy()
    await closed
    child.stdin.end()
    assert.deepStrictEqual([await ended, await complaint], [[0, null], "done\n"])
  })
})
