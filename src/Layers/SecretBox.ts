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
import * as Ring from "./SecretBox/Ring.ts"
import { allowLostSecrets, database } from "./Settings.ts"

const fileName = "secret.key"

/**
 * Sealing with the key of `AGENTD_SECRET_KEY`; with the embedded database and without that variable, with
 * a key that the first use makes in the data folder (0600). `AGENTD_SECRET_KEYS_OLD`, separated by commas,
 * still open what they have sealed (CONTRACT.md section 1). Keys that can't open what was stored last end the start
 * (ADR 8), and then no key is made.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { dataDir, url } = yield* database
    const named = Option.map(yield* Config.option(Config.Redacted("AGENTD_SECRET_KEY")), Redacted.value)
    const old = yield* Config.option(Config.Redacted("AGENTD_SECRET_KEYS_OLD"))
    const former = (Option.isSome(old) ? Redacted.value(old.value).split(",") : [])
      .map((key) => key.trim())
      .filter((key) => key !== "")
    const path = join(dataDir, fileName)
    const place = Option.isNone(url) && Option.isNone(named) ? path : "AGENTD_SECRET_KEY"
    const given = place === path ? yield* keyOfFile(path) : named
    yield* requireFitting(place, given, former)
    const random = yield* SecureRandom.SecureRandom
    const current =
      Option.isNone(given) && place === path
        ? keyMadeIn(path, yield* random.randomBytes(Ring.keyBytes))
        : Option.getOrUndefined(given)
    return Ring.layer({ current, former })
  })
).pipe(Layer.provide(SecureRandom.layerWebCrypto))

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
    yield* Effect.logWarning(
      `the secret of a ${lost.kind} can't be opened: the key that sealed it is not given`
    )
  }
})

const remedy =
  "put the key that sealed it there, or in AGENTD_SECRET_KEYS_OLD; if it is lost, " +
  "AGENTD_ALLOW_LOST_SECRETS=true starts without what it sealed"

const keyOfFile = Effect.fnUntraced(function* (path: string) {
  if (!existsSync(path)) return Option.none<string>()
  const key = readFileSync(path, "utf8").trim()
  yield* Effect.mapError(
    Ring.idsOf([key]),
    () => new Ring.SecretKeyInvalid({ error: `${path}: ${Ring.form}` })
  )
  return Option.some(key)
})

const keyMadeIn = (path: string, fresh: Uint8Array): string => {
  const dataDir = dirname(path)
  const key = Buffer.from(fresh).toString("base64")
  if (!existsSync(dataDir)) mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(`${path}.new`, `${key}\n`, { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
  const folder = openSync(dataDir, "r")
  fsyncSync(folder)
  closeSync(folder)
  return key
}
