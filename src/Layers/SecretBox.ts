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
import { join } from "node:path"
import * as Config from "effect/Config"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Ring from "./SecretBox/Ring.ts"
import { database } from "./Settings.ts"

const fileName = "secret.key"

/**
 * Sealing with the key of `AGENTD_SECRET_KEY`; with the embedded database and without that variable, with
 * a key that the first use makes in the data folder (0600). `AGENTD_SECRET_KEYS_OLD`, separated by commas,
 * still open what they have sealed (CONTRACT.md section 1).
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { dataDir, url } = yield* database
    const named = yield* Config.option(Config.Redacted("AGENTD_SECRET_KEY"))
    const old = yield* Config.option(Config.Redacted("AGENTD_SECRET_KEYS_OLD"))
    const random = yield* SecureRandom.SecureRandom
    const current = Option.isSome(named)
      ? Option.some(Redacted.value(named.value))
      : Option.isSome(url)
        ? Option.none<string>()
        : Option.some(keyOfFolder(dataDir, yield* random.randomBytes(Ring.keyBytes)))
    const former = Option.isSome(old) ? Redacted.value(old.value).split(",") : []
    return Ring.layer({
      current: Option.getOrUndefined(current),
      former: former.map((key) => key.trim()).filter((key) => key !== "")
    })
  })
).pipe(Layer.provide(SecureRandom.layerWebCrypto))

const keyOfFolder = (dataDir: string, fresh: Uint8Array): string => {
  const path = join(dataDir, fileName)
  if (!existsSync(path)) {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    writeFileSync(`${path}.new`, `${Buffer.from(fresh).toString("base64")}\n`, { mode: 0o600, flush: true })
    renameSync(`${path}.new`, path)
    const folder = openSync(dataDir, "r")
    fsyncSync(folder)
    closeSync(folder)
  }
  return readFileSync(path, "utf8").trim()
}
