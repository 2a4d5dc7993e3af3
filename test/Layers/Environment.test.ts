import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Environment from "../../src/Layers/Environment.ts"
import { sentenceOf } from "../../src/Layers/Runtime.ts"
import { address } from "../../src/Layers/Settings.ts"

/** What is read, and the log that reading it made. */
const read = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const lines: Array<string> = []
  const logger = Logger.map(Logger.formatLogFmt, (line) => void lines.push(line))
  const found = yield* address.pipe(
    Effect.provide(Environment.layer(environment)),
    Effect.provide(Logger.layer([logger]))
  )
  return { found, lines }
})

describe("the environment of a process", () => {
  it.effect("ends its start with every mistake at once", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        read({ PORT: "many", AGENTD_LEASE_SECONDS: "0", AGENTD_DATA_DRI: "/data" })
      )
      assert.strictEqual(
        sentenceOf(error),
        "PORT must be a whole number from 0 to 65535; AGENTD_LEASE_SECONDS must be a whole number from 1 to 3600; " +
          "AGENTD_DATA_DRI is no setting: did you mean AGENTD_DATA_DIR?"
      )
    })
  )

  it.effect("ends its start with one mistake that nothing else would find", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read({ AGENTD_DATA_DRI: "/data" }))
      assert.strictEqual(sentenceOf(error), "AGENTD_DATA_DRI is no setting: did you mean AGENTD_DATA_DIR?")
    })
  )

  it.effect("is told in one line of the log what nobody reads, cut where it is much", () =>
    Effect.gen(function* () {
      const links = { AGENTD_SERVICE_HOST: "10.0.0.1", AGENTD_PORT_3000_TCP: "tcp://10.0.0.1:3000" }
      const { found, lines } = yield* read({ ...links, PORT: "4000" })
      assert.strictEqual(found.port, 4000)
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "level=WARN")
      assert.include(lines[0], 'message="variables that are no settings"')
      assert.include(lines[0], 'variables="AGENTD_SERVICE_HOST AGENTD_PORT_3000_TCP"')
      assert.notInclude(lines[0], "10.0.0.1")

      const many = Array.from({ length: 1000 }, (_, n) => [`AGENTD_${"X".repeat(1000)}_${n}`, "1"])
      const told = (yield* read(Object.fromEntries(many))).lines.join("\n")
      assert.isBelow(told.length, 3000)
      assert.include(told, "count=1000")
    })
  )

  it.effect("says nothing where all is known", () =>
    Effect.gen(function* () {
      const { lines } = yield* read({ PORT: "4000", PATH: "/bin", AGENTD_SECRET_KEYS_OLD: "" })
      assert.deepStrictEqual(lines, [])
    })
  )
})
