import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Environment from "../../../src/Layers/Environment.ts"
import { problemsOf } from "../../../src/Layers/Operator/Problems.ts"
import { sentenceOf } from "../../../src/Layers/Runtime.ts"
import * as Settings from "../../../src/Layers/Settings.ts"

const problems = (environment: Readonly<Record<string, string>>) =>
  problemsOf({
    environment,
    mistakes: Environment.mistakes,
    settings: Environment.layerUnchecked,
    sentenceOf,
    checks: [Effect.scoped(Layer.build(Settings.layer)), Settings.allowLostSecrets]
  })

describe("the problems of an environment", () => {
  it.effect("are none where there are none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* problems({ PORT: "1", AGENTD_MAX_STEPS: "5" })).problems, [])
    })
  )

  it.effect("are all told, each once, and left out of what is used then", () =>
    Effect.gen(function* () {
      const found = yield* problems({
        PORT: "x",
        HOST: "localhost",
        AGENTD_MAX_STEPS: "0",
        AGENTD_ALLOW_LOST_SECRETS: "yes",
        DATABASE_URL: "postgres://u:canary@h/d",
        DATABASE_URL_FILE: "/canary"
      })
      assert.deepStrictEqual(found.problems, [
        "DATABASE_URL and DATABASE_URL_FILE: set one of them",
        "PORT must be a whole number from 0 to 65535",
        "AGENTD_MAX_STEPS must be a whole number from 1 to 1000",
        "AGENTD_ALLOW_LOST_SECRETS must be true or false"
      ])
      assert.sameMembers(
        [...found.hidden],
        ["DATABASE_URL", "PORT", "AGENTD_MAX_STEPS", "AGENTD_ALLOW_LOST_SECRETS"]
      )
      const { host, port } = yield* Effect.provide(Settings.address, found.rest)
      assert.deepStrictEqual([host, port], ["localhost", 3000])
    })
  )

  it.effect("are told of a file that can't be read, and of what is behind it", () =>
    Effect.gen(function* () {
      const found = yield* problems({ AGENTD_SECRET_KEY_FILE: "/nowhere", PORT: "x" })
      assert.deepStrictEqual(found.problems, [
        "AGENTD_SECRET_KEY_FILE: the file /nowhere can't be read",
        "PORT must be a whole number from 0 to 65535"
      ])
      assert.sameMembers([...found.hidden], ["AGENTD_SECRET_KEY", "PORT"])
    })
  )

  it.effect("are looked for no further where leaving a variable out does not help", () =>
    Effect.gen(function* () {
      let times = 0
      const stubborn = Effect.suspend(() => {
        times++
        return Effect.fail({ error: "PORT is never right" })
      })
      const environment = { PORT: "1" }
      const settings = Environment.layerUnchecked
      yield* problemsOf({
        environment,
        mistakes: Environment.mistakes,
        settings,
        sentenceOf,
        checks: [stubborn]
      })
      assert.strictEqual(times, 2)
    })
  )

  it.effect("end with one whose variable is not there to be left out", () =>
    Effect.gen(function* () {
      const found = yield* problemsOf({
        environment: { A: "1" },
        mistakes: () => Effect.succeed([]),
        settings: Environment.layerUnchecked,
        sentenceOf,
        checks: [Effect.fail({ error: "the disk is full" }), Effect.fail({ error: "NOT_SET must be set" })]
      })
      assert.deepStrictEqual(found.problems, ["the disk is full", "NOT_SET must be set"])
    })
  )
})
