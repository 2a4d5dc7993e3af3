import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Environment from "../../src/Layers/Environment.ts"
import * as SecretFiles from "../../src/Layers/SecretFiles.ts"
import { address, database } from "../../src/Layers/Settings.ts"

describe("secrets in files", () => {
  const folder = mkdtempSync(join(tmpdir(), "agentd-secrets-"))
  const path = join(folder, "url")
  writeFileSync(path, "postgres://u:p@db/agentd\n")
  const blank = join(folder, "blank")
  writeFileSync(blank, " \n")
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const settings = (environment: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const { url } = yield* database
      return { url: Option.map(url, Redacted.value), port: (yield* address).port }
    }).pipe(Effect.provide(Environment.layer(environment)))

  it.effect("are read beside the environment, without the end of the line", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* settings({ DATABASE_URL_FILE: path, PORT: "4000" }), {
        url: Option.some("postgres://u:p@db/agentd"),
        port: 4000
      })
      assert.isTrue(Option.isNone((yield* settings({ DATABASE_URL_FILE: "" })).url))
      // Former keys may be none.
      yield* settings({ AGENTD_SECRET_KEYS_OLD_FILE: blank })
    })
  )

  for (const [what, environment, says] of [
    ["both are set", { DATABASE_URL: "postgres://db", DATABASE_URL_FILE: path }, /set one of them/],
    [
      "the file is gone",
      { AGENTD_SECRET_KEY_FILE: `${path}.gone` },
      /^AGENTD_SECRET_KEY_FILE: .* can't be read/
    ],
    ["the file of a key is empty", { AGENTD_SECRET_KEY_FILE: blank }, /^AGENTD_SECRET_KEY_FILE: .* is empty/],
    // Unset it means the embedded database.
    ["the file of an address is empty", { DATABASE_URL_FILE: blank }, /^DATABASE_URL_FILE: .* is empty/]
  ] as const) {
    it.effect(`end the start in a sentence when ${what}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(settings(environment))
        assert.instanceOf(error, SecretFiles.SecretFileError)
        assert.match((error as SecretFiles.SecretFileError).error, says)
      })
    )
  }
})
