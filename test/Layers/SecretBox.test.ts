import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import * as SecretBoxOfProcess from "../../src/Layers/SecretBox.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { samplesAlone } from "../support/Sealed.ts"

const keyOf = (byte: number) => Buffer.alloc(Ring.keyBytes, byte).toString("base64")
const [one, two, three] = [keyOf(1), keyOf(2), keyOf(3)]
const secret = "canary-7f3a \u0000 Zoë 👩‍🚀"

/** A service of its own, as a process with these keys has it. */
const withRing = (
  current: string | undefined,
  ...former: ReadonlyArray<string>
): Effect.Effect<SecretBox["Service"], Ring.SecretKeyInvalid> =>
  Effect.provide(SecretBox, Ring.layer({ current, former }), { local: true })

const seal = (box: SecretBox["Service"], row = "conn_1") => box.seal(row, Redacted.make(secret))
const open = (box: SecretBox["Service"], sealed: string, row = "conn_1") =>
  Effect.map(box.open(row, sealed), Redacted.value)

const refusal = "can't be opened: its key is not in AGENTD_SECRET_KEYS_OLD"

const isRefused = Effect.fnUntraced(function* (box: SecretBox["Service"], sealed: string, row?: string) {
  const error = yield* Effect.flip(open(box, sealed, row))
  assert.strictEqual(error.error, refusal, sealed)
})

describe("a ring of keys", () => {
  it.effect("opens what it has sealed, for the same row alone", () =>
    Effect.gen(function* () {
      const box = yield* withRing(one)
      const sealed = yield* seal(box)
      assert.strictEqual(yield* open(box, sealed), secret)
      for (const row of ["conn_2", "conn_1 ", "", "CONN_1"]) yield* isRefused(box, sealed, row)
      assert.strictEqual(yield* open(box, yield* box.seal("", Redacted.make("")), ""), "")
    })
  )

  it.effect("seals into a text in which the secret does not appear, another one each time", () =>
    Effect.gen(function* () {
      const box = yield* withRing(one)
      const sealed = yield* Effect.replicateEffect(seal(box), 100)
      assert.strictEqual(new Set(sealed).size, 100)
      assert.strictEqual(new Set(sealed.map((text) => text.split(".")[2])).size, 100, "a nonce came twice")
      for (const text of sealed) {
        assert.match(text, /^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/u)
        const decoded = text.split(".").map((part) => Buffer.from(part, "base64url").toString("latin1"))
        for (const form of [text, ...decoded]) {
          assert.notInclude(form, "canary")
          assert.notInclude(form, one)
        }
      }
    })
  )

  it.effect("refuses a text in which anything was changed", () =>
    Effect.gen(function* () {
      const box = yield* withRing(one)
      const sealed = yield* seal(box)
      // The last character has bits that stand for nothing.
      for (let index = 0; index < sealed.length - 1; index++) {
        const other = sealed[index] === "A" ? "B" : "A"
        yield* isRefused(box, sealed.slice(0, index) + other + sealed.slice(index + 1))
      }
      const [form, id, nonce, ciphertext] = sealed.split(".")
      const other = (yield* box.seal("conn_1", Redacted.make("other"))).split(".")
      for (const parts of [
        [form, id, nonce],
        [form, id, nonce, ""],
        [form, id, nonce, ciphertext?.slice(0, -4)],
        [form, id, other[2], ciphertext],
        [form, id, nonce, other[3]],
        [form, id, "", ciphertext],
        ["v2", id, nonce, ciphertext],
        [form, "00000000", nonce, ciphertext],
        [form, id, nonce, `${ciphertext}!`],
        [""]
      ]) {
        yield* isRefused(box, parts.join("."))
      }
    })
  )

  it.effect("refuses a text with something after its end", () =>
    Effect.gen(function* () {
      const box = yield* withRing(one)
      yield* isRefused(box, `${yield* seal(box)}.more`)
    })
  )

  it.effect("opens with former keys too, and seals with the current one alone", () =>
    Effect.gen(function* () {
      const old = yield* seal(yield* withRing(one))
      const older = yield* seal(yield* withRing(two))
      const box = yield* withRing(three, one, two)
      assert.strictEqual(yield* open(box, old), secret)
      assert.strictEqual(yield* open(box, older), secret)
      const fresh = yield* seal(box)
      assert.strictEqual(yield* open(yield* withRing(three), fresh), secret)
      yield* isRefused(yield* withRing(one, two), fresh)
      yield* isRefused(yield* withRing(three), old)
    })
  )

  it.effect("seals nothing without a current key, but opens with former ones", () =>
    Effect.gen(function* () {
      const sealed = yield* seal(yield* withRing(one))
      const box = yield* withRing(undefined, one)
      assert.strictEqual(yield* open(box, sealed), secret)
      const error = yield* Effect.flip(seal(box))
      assert.strictEqual(error.error, "can't be stored: this service has no AGENTD_SECRET_KEY")
      yield* isRefused(yield* withRing(undefined), sealed)
    })
  )

  it.effect("takes a key in either alphabet of base64, with or without padding", () =>
    Effect.gen(function* () {
      const key = Buffer.alloc(Ring.keyBytes, 0xfb)
      const sealed = yield* seal(yield* withRing(key.toString("base64")))
      for (const form of [key.toString("base64url"), key.toString("base64").replace(/=+$/u, "")]) {
        assert.strictEqual(yield* open(yield* withRing(form), sealed), secret)
      }
    })
  )

  it.effect("ends the start with a sentence that does not show the key when one is malformed", () =>
    Effect.gen(function* () {
      const short = Buffer.alloc(31, 1).toString("base64")
      const long = Buffer.alloc(33, 1).toString("base64")
      for (const wrong of [
        "",
        "canary",
        short,
        long,
        `${one} `,
        ` ${one}`,
        `${one}\n`,
        "!".repeat(44),
        "é".repeat(44)
      ]) {
        for (const ring of [withRing(wrong), withRing(one, wrong), withRing(undefined, wrong)]) {
          const error = yield* Effect.flip(ring)
          assert.strictEqual(
            error.error,
            "AGENTD_SECRET_KEY and AGENTD_SECRET_KEYS_OLD: a key is 32 bytes in base64 (openssl rand -base64 32)",
            JSON.stringify(wrong)
          )
        }
      }
    })
  )
})

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "agentd-test-secret-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
)

/** The service of a process with this environment. */
const started = (
  env: Record<string, string>
): Effect.Effect<SecretBox["Service"], Layer.Error<typeof SecretBoxOfProcess.layer>> =>
  Effect.provide(SecretBox, SecretBoxOfProcess.layer, { local: true }).pipe(
    Effect.provideService(SealedRepo, samplesAlone([])),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

const remote = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }

describe("the keys of a process", () => {
  it.effect("are made once, in the folder of the embedded database, for its owner alone", () =>
    Effect.gen(function* () {
      const folder = Path.join(yield* temporaryFolder, "data")
      const path = Path.join(folder, "secret.key")
      const sealed = yield* seal(yield* started({ AGENTD_DATA_DIR: folder }))
      assert.deepStrictEqual(Fs.readdirSync(folder), ["secret.key"])
      assert.strictEqual(Fs.statSync(path).mode & 0o777, 0o600)
      assert.strictEqual(Fs.statSync(folder).mode & 0o777, 0o700)
      const made = Fs.readFileSync(path, "utf8")
      assert.strictEqual(Buffer.from(made, "base64").length, Ring.keyBytes)
      assert.strictEqual(yield* open(yield* started({ AGENTD_DATA_DIR: folder }), sealed), secret)
      assert.strictEqual(Fs.readFileSync(path, "utf8"), made)
    })
  )

  it.effect("are another one in every folder", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* temporaryFolder, yield* temporaryFolder]
      const sealed = yield* seal(yield* started({ AGENTD_DATA_DIR: a }))
      yield* isRefused(yield* started({ AGENTD_DATA_DIR: b }), sealed)
    })
  )

  it.effect("come from the environment where it has one, and then no file is made", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const sealed = yield* seal(yield* started({ AGENTD_DATA_DIR: folder, AGENTD_SECRET_KEY: one }))
      assert.deepStrictEqual(Fs.readdirSync(folder), [])
      assert.strictEqual(yield* open(yield* withRing(one), sealed), secret)
    })
  )

  it.effect("are none with a DATABASE_URL alone, and no file is made", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const box = yield* started({ ...remote, AGENTD_DATA_DIR: folder })
      const error = yield* Effect.flip(seal(box))
      assert.include(error.error, "AGENTD_SECRET_KEY")
      assert.deepStrictEqual(Fs.readdirSync(folder), [])
    })
  )

  it.effect("are joined by former ones, separated by commas", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* seal(yield* withRing(one)), yield* seal(yield* withRing(two))]
      const box = yield* started({
        ...remote,
        AGENTD_SECRET_KEY: three,
        AGENTD_SECRET_KEYS_OLD: ` ${one} ,, ${two},`
      })
      assert.strictEqual(yield* open(box, a), secret)
      assert.strictEqual(yield* open(box, b), secret)
    })
  )

  it.effect("end the start when they, or the file, are no keys", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const bad = [
        { ...remote, AGENTD_SECRET_KEY: "short" },
        { ...remote, AGENTD_SECRET_KEY: one, AGENTD_SECRET_KEYS_OLD: `${two},short` },
        { AGENTD_DATA_DIR: folder }
      ]
      Fs.writeFileSync(Path.join(folder, "secret.key"), "")
      for (const env of bad) {
        const error = yield* Effect.flip(started(env))
        assert.instanceOf(error, Ring.SecretKeyInvalid)
      }
    })
  )
})
