import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { makeLogger, type SentLine } from "../../../src/Layers/Telemetry/Logs.ts"
import { quoting } from "../../../src/Services/Telemetry.ts"

const words = "the words of a user"

/** What is sent of a line about a provider, and of one about this program. */
const sent = Effect.fnUntraced(function* (captureContent: boolean) {
  const lines: Array<SentLine> = []
  const logger = makeLogger({ captureContent, valueLength: 64 }, (line) => lines.push(line))
  yield* Effect.all([quoting(Effect.logWarning("a model gave no answer")), Effect.logWarning("other")]).pipe(
    Effect.annotateLogs({ reason: "bad_request", error: words }),
    Effect.provide(Logger.layer([logger]))
  )
  return lines.map(({ attributes }) =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]))
  )
})

describe("lines of the log", () => {
  it.effect("are sent without words of others, unless texts may be told", () =>
    Effect.gen(function* () {
      const all = { reason: "bad_request", error: words }
      assert.deepStrictEqual(yield* sent(false), [{ reason: "bad_request" }, all])
      assert.deepStrictEqual(yield* sent(true), [all, all])
    })
  )
})
