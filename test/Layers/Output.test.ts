import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { afterEach, vi } from "vitest"
import { writeStdout } from "../../src/Layers/Output.ts"

afterEach(() => {
  vi.restoreAllMocks()
})

it.effect("goes on where nobody reads any more, and listens for that once", () =>
  Effect.gen(function* () {
    vi.spyOn(process.stdout, "write").mockImplementation(((_text: unknown, done: (error: Error) => void) => {
      done(new Error("write EPIPE"))
      return false
    }) as never)
    yield* writeStdout("first")
    const listeners = process.stdout.listenerCount("error")
    for (let line = 0; line < 20; line++) yield* writeStdout("more")
    assert.strictEqual(process.stdout.listenerCount("error"), listeners)
  })
)
