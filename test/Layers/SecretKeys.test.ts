import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { sentenceOf } from "../../src/Layers/Runtime.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import * as SecretBoxOfProcess from "../../src/Layers/SecretBox.ts"
import type { SealedSample } from "../../src/Schemas/SealedSample.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { goneAt } from "../support/FailingFiles.ts"
import { samplesAlone } from "../support/Sealed.ts"

const keyOf = (byte: number) => Buffer.alloc(Ring.keyBytes, byte).toString("base64")
const [one, two, three] = [keyOf(1), keyOf(2), keyOf(3)]
const remote = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }

const sealedBy = (key: string) =>
  Effect.flatMap(SecretBox, (box) => box.seal("row", Redacted.make("canary"))).pipe(
    Effect.provide(Ring.layer({ current: key, former: [] }), { local: true })
  )

/** What is stored, by the keys that have sealed the oldest and the newest of each kind. */
const stored = (keys: Partial<Record<SealedSample["kind"], readonly [oldest: string, newest: string]>>) =>
  Effect.forEach(Object.entries(keys), ([kind, [oldest, newest]]) =>
    Effect.all([
      Effect.map(sealedBy(oldest), (sealed) => ({ kind, sealed, newest: false })),
      Effect.map(sealedBy(newest), (sealed) => ({ kind, sealed, newest: true }))
    ])
  ).pipe(Effect.map((samples) => samples.flat() as ReadonlyArray<SealedSample>))

const started = (env: Readonly<Record<string, string>>, samples: ReadonlyArray<SealedSample>) =>
  Effect.provide(SecretBox, SecretBoxOfProcess.layer, { local: true }).pipe(
    Effect.provideService(SealedRepo, samplesAlone(samples)),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

const refusal = (env: Readonly<Record<string, string>>, samples: ReadonlyArray<SealedSample>) =>
  Effect.map(Effect.flip(started(env, samples)), sentenceOf)

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "agentd-test-keys-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const remedy =
  "put the key that sealed it there, or in AGENTD_SECRET_KEYS_OLD; if it is lost, " +
  "AGENTD_ALLOW_LOST_SECRETS=true starts without what it sealed"

describe("the key of a start", () => {
  it.effect("that has not sealed what is stored ends it, and the sentence shows no key", () =>
    Effect.gen(function* () {
      for (const [kind, samples] of [
        ["provider key", yield* stored({ "provider key": [one, one] })],
        ["connector", yield* stored({ connector: [one, one] })],
        ["connector", yield* stored({ "provider key": [two, two], connector: [two, one] })]
      ] as const) {
        for (const env of [
          { ...remote, AGENTD_SECRET_KEY: two },
          { ...remote, AGENTD_SECRET_KEY: two, AGENTD_SECRET_KEYS_OLD: three },
          { AGENTD_DATA_DIR: "/nowhere", AGENTD_SECRET_KEY: two }
        ]) {
          const sentence = yield* refusal(env, samples)
          assert.strictEqual(
            sentence,
            `AGENTD_SECRET_KEY: the secret of a ${kind} was sealed with another key: ${remedy}`
          )
        }
      }
    })
  )

  it.effect("that is none ends it where something is sealed, and only there", () =>
    Effect.gen(function* () {
      const samples = yield* stored({ connector: [one, one] })
      assert.strictEqual(
        yield* refusal(remote, samples),
        `AGENTD_SECRET_KEY is not set, and the secret of a connector is sealed: ${remedy}`
      )
      yield* started(remote, [])
      yield* started({ ...remote, AGENTD_SECRET_KEY: two }, [])
      // Opened by a former key alone, nothing more is sealed, as ever.
      yield* started({ ...remote, AGENTD_SECRET_KEYS_OLD: one }, samples)
    })
  )

  it.effect("may be a new one while the former ones open what is there", () =>
    Effect.gen(function* () {
      const samples = yield* stored({ connector: [one, two], "provider key": [two, two] })
      const box = yield* started(
        { ...remote, AGENTD_SECRET_KEY: three, AGENTD_SECRET_KEYS_OLD: `${one},${two}` },
        samples
      )
      assert.strictEqual(Redacted.value(yield* box.open("row", yield* sealedBy(one))), "canary")
    })
  )

  it.effect("may be without a former one that the newest secrets don't need", () =>
    Effect.gen(function* () {
      yield* started({ ...remote, AGENTD_SECRET_KEY: two }, yield* stored({ connector: [one, two] }))
    })
  )

  it.effect("may be another one where the operator has given up what the lost one sealed", () =>
    Effect.gen(function* () {
      const samples = yield* stored({ connector: [one, one] })
      const env = { ...remote, AGENTD_SECRET_KEY: two, AGENTD_ALLOW_LOST_SECRETS: "true" }
      const box = yield* started(env, samples)
      yield* box.seal("row", Redacted.make("new"))
      assert.match(
        yield* refusal({ ...env, AGENTD_ALLOW_LOST_SECRETS: "yes" }, samples),
        /must be true or false/u
      )
    })
  )

  it.effect("is no matter of texts that are not sealed", () =>
    started({ ...remote, AGENTD_SECRET_KEY: two }, [
      { kind: "connector", sealed: "Bearer x.y.z", newest: true }
    ])
  )
})

describe("the key in the data folder", () => {
  it.effect("is not made anew where it is gone and something is sealed", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const samples = yield* stored({ "provider key": [one, one] })
      const path = Path.join(dataDir, "secret.key")
      assert.strictEqual(
        yield* refusal({ AGENTD_DATA_DIR: dataDir }, samples),
        `${path} is missing, and the secret of a provider key is sealed: ${remedy}`
      )
      assert.deepStrictEqual(Fs.readdirSync(dataDir), [])
      Fs.writeFileSync(path, `${one}\n`)
      yield* started({ AGENTD_DATA_DIR: dataDir }, samples)
    })
  )

  it.effect("that is another one ends the start, and stays as it is", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const path = Path.join(dataDir, "secret.key")
      Fs.writeFileSync(path, two)
      const samples = yield* stored({ "provider key": [one, one] })
      assert.include(
        yield* refusal({ AGENTD_DATA_DIR: dataDir }, samples),
        `${path}: the secret of a provider key was sealed with another key`
      )
      assert.strictEqual(Fs.readFileSync(path, "utf8"), two)
      yield* started({ AGENTD_DATA_DIR: dataDir, AGENTD_SECRET_KEYS_OLD: one }, samples)
    })
  )

  it.effect("can be renewed: the new one seals, those of before open, and a start finds them all", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const file = Path.join(dataDir, "secret.key")
      const env = { AGENTD_DATA_DIR: dataDir }
      const box = yield* started(env, [])
      const seal = (by: SecretBox["Service"]) => by.seal("row", Redacted.make("canary"))
      const keys = [Fs.readFileSync(file, "utf8").trim()]
      const sealed = [yield* seal(box)]
      for (let time = 0; time < 2; time++) {
        assert.deepStrictEqual(yield* Effect.forEach(sealed, box.sealedBy), [
          ...sealed.slice(1).map(() => "another" as const),
          "current"
        ])
        yield* box.renew
        keys.push(Fs.readFileSync(file, "utf8").trim())
        sealed.push(yield* seal(box))
      }
      assert.strictEqual(new Set(keys).size, 3)
      assert.strictEqual(yield* box.sealedBy("Bearer x.y.z"), "none")
      for (const each of [box, yield* started(env, [])]) {
        for (const text of sealed) assert.strictEqual(Redacted.value(yield* each.open("row", text)), "canary")
        assert.strictEqual(yield* each.sealedBy(yield* seal(each)), "current")
      }
      const former = Path.join(dataDir, "secret.keys.old")
      assert.strictEqual(Fs.readFileSync(former, "utf8"), `${keys[0]}\n${keys[1]}\n`)
      assert.deepStrictEqual(Fs.readdirSync(dataDir).sort(), ["secret.key", "secret.keys.old"])
      for (const path of [file, former]) assert.strictEqual(Fs.statSync(path).mode & 0o777, 0o600)
      Fs.writeFileSync(former, "canary")
      assert.strictEqual(
        yield* refusal(env, []),
        `${former}: a key is 32 bytes in base64 (openssl rand -base64 32)`
      )
    })
  )

  it.effect("loses nothing wherever its renewal ends, and a start and another renewal go on from there", () =>
    Effect.gen(function* () {
      const seal = (by: SecretBox["Service"]) => by.seal("row", Redacted.make("canary"))
      const renewedUpTo = Effect.fnUntraced(function* (last: number) {
        const dataDir = yield* folder
        const env = { AGENTD_DATA_DIR: dataDir }
        const box = yield* started(env, [])
        yield* box.renew
        const sealed = [yield* seal(box)]
        const isGone = yield* goneAt(last, box.renew)
        // Who could not renew it, and lives on, seals with what others open.
        sealed.push(yield* seal(box))
        for (let time = 0; time < 2; time++) {
          const samples = sealed.map((text) => ({ kind: "connector", sealed: text, newest: true }) as const)
          const next = yield* started(env, samples)
          for (const text of sealed) {
            assert.strictEqual(Redacted.value(yield* next.open("row", text)), "canary", `gone at ${last}`)
          }
          yield* next.renew
          sealed.push(yield* seal(next))
        }
        assert.deepStrictEqual(Fs.readdirSync(dataDir).sort(), ["secret.key", "secret.keys.old"])
        return isGone
      })
      let changes = 0
      while (yield* renewedUpTo(changes)) changes++
      // Two files, each written aside, put in its place, and its folder brought to the disk.
      assert.strictEqual(changes, 10)
    })
  )

  it.effect("is renewed by whoever gives it, where that is not agentd", () =>
    Effect.gen(function* () {
      const box = yield* started({ AGENTD_DATA_DIR: "/nowhere", AGENTD_SECRET_KEY: one }, [])
      assert.include(
        (yield* Effect.flip(box.renew)).error,
        "the key is that of AGENTD_SECRET_KEY: set it to a new one"
      )
    })
  )

  it.effect("stays what it was where the new one can't be kept", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const box = yield* started({ AGENTD_DATA_DIR: dataDir }, [])
      const sealed = yield* box.seal("row", Redacted.make("canary"))
      // Nobody, root neither, writes a file over a folder.
      Fs.mkdirSync(Path.join(dataDir, "secret.keys.old"))
      assert.include((yield* Effect.flip(box.renew)).error, "no new key could be kept in")
      assert.strictEqual(yield* box.sealedBy(sealed), "current")
      assert.strictEqual(yield* box.sealedBy(yield* box.seal("row", Redacted.make("more"))), "current")
    })
  )

  it.effect("that is malformed is named, and not shown", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const path = Path.join(dataDir, "secret.key")
      Fs.writeFileSync(path, "canary")
      assert.strictEqual(
        yield* refusal({ AGENTD_DATA_DIR: dataDir }, []),
        `${path}: a key is 32 bytes in base64 (openssl rand -base64 32)`
      )
    })
  )
})
