import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import * as Config from "effect/Config"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { unopened } from "../Schemas/SealedSample.ts"
import { SealedRepo } from "../Services/SealedRepo.ts"
import { SecretBoxError } from "../Services/SecretBox.ts"
import * as Ring from "./SecretBox/Ring.ts"
import { allowLostSecrets, database } from "./Settings.ts"

const fileName = "secret.key"
const formerFileName = "secret.keys.old"

/**
 * Sealing with the key of `AGENTD_SECRET_KEY`; with the embedded database and without that variable, with
 * a key that the first use makes in the data folder (0600). `AGENTD_SECRET_KEYS_OLD`, separated by commas, and the
 * keys that were in the data folder before, still open what they have sealed (CONTRACT.md section 1). Keys that can't
 * open what was stored last end the start (ADR 8), and then no key is made.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { file, former, given, place } = yield* keys
    yield* requireFitting(place, given, former)
    const random = yield* SecureRandom.SecureRandom
    const makeKey = Effect.map(random.randomBytes(Ring.keyBytes), (bytes) =>
      Buffer.from(bytes).toString("base64")
    )
    if (file === undefined) return Ring.layer({ current: Option.getOrUndefined(given), former })
    const current = Option.isSome(given) ? given.value : yield* Effect.map(makeKey, keptIn(file))
    return Ring.layer({ current, former, renew: Effect.flatMap(makeKey, renewedIn(file)) })
  })
).pipe(Layer.provide(SecureRandom.layerWebCrypto))

/**
 * The keys as they are, without making one: the one that seals, with the name of its place, and those that open. `file`
 * is where it is kept that agentd makes and renews itself.
 */
export const keys = Effect.gen(function* () {
  const { dataDir, url } = yield* database
  const named = Option.map(yield* Config.option(Config.Redacted("AGENTD_SECRET_KEY")), Redacted.value)
  const old = yield* Config.option(Config.Redacted("AGENTD_SECRET_KEYS_OLD"))
  const former = wordsOf(Option.isSome(old) ? Redacted.value(old.value) : "", ",")
  if (Option.isSome(url) || Option.isSome(named)) {
    return { place: "AGENTD_SECRET_KEY", file: undefined, given: named, former }
  }
  const file = join(dataDir, fileName)
  const given = Option.fromNullishOr((yield* keysOfFile(file, (text) => [text.trim()]))[0])
  const kept = yield* keysOfFile(formerOf(file), (text) => wordsOf(text, "\n"))
  return { place: file, file, given, former: [...former, ...kept] }
})

const formerOf = (file: string): string => join(dirname(file), formerFileName)

const wordsOf = (text: string, separator: string): ReadonlyArray<string> =>
  text
    .split(separator)
    .map((key) => key.trim())
    .filter((key) => key !== "")

/** One look at each kind: keys that were mistaken are found now, and not when somebody needs a secret. */
const requireFitting = Effect.fnUntraced(function* (
  place: string,
  given: Option.Option<string>,
  former: ReadonlyArray<string>
) {
  const ids = yield* Ring.idsOf([...Option.toArray(given), ...former])
  const { newest, oldest } = unopened(yield* (yield* SealedRepo).samples, ids)
  if (newest !== undefined && !(yield* allowLostSecrets)) {
    const secret = `the secret of a ${newest.kind}`
    const problem = Option.isSome(given)
      ? `${place}: ${secret} was sealed with another key`
      : `${place} is ${place === "AGENTD_SECRET_KEY" ? "not set" : "missing"}, and ${secret} is sealed`
    return yield* new Ring.SecretKeyInvalid({ error: `${problem}: ${remedy}` })
  }
  const lost = newest ?? oldest
  if (lost !== undefined) {
    yield* Effect.annotateLogs(
      Effect.logWarning("a secret can't be opened: the key that sealed it is not given"),
      { kind: lost.kind }
    )
  }
})

const remedy =
  "put the key that sealed it there, or in AGENTD_SECRET_KEYS_OLD; if it is lost, " +
  "AGENTD_ALLOW_LOST_SECRETS=true starts without what it sealed"

const keysOfFile = Effect.fnUntraced(function* (path: string, read: (text: string) => ReadonlyArray<string>) {
  if (!existsSync(path)) return []
  const found = yield* Effect.try({
    try: () => read(readFileSync(path, "utf8")),
    catch: (cause) =>
      new Ring.SecretKeyInvalid({
        error: `${path} can't be read: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })
  yield* Effect.mapError(
    Ring.idsOf(found),
    () => new Ring.SecretKeyInvalid({ error: `${path}: ${Ring.form}` })
  )
  return found
})

/** Puts a file there as a whole or not at all, whatever happens meanwhile. */
const put = (path: string, text: string): void => {
  writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
  const folder = openSync(dirname(path), "r")
  fsyncSync(folder)
  closeSync(folder)
}

const keptIn =
  (path: string) =>
  (key: string): string => {
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 })
    put(path, `${key}\n`)
    return key
  }

/** First the key of before goes to those that open: no moment is without it. */
const renewedIn = (path: string) => (key: string) =>
  Effect.try({
    try: () => {
      const text = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "")
      const former = new Set([...wordsOf(text(formerOf(path)), "\n"), ...wordsOf(text(path), "\n")])
      put(formerOf(path), `${[...former].join("\n")}\n`)
      return keptIn(path)(key)
    },
    catch: (cause) =>
      new SecretBoxError({
        error: `no new key could be kept in ${path}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })
