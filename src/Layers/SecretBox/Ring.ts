import { createHash } from "node:crypto"
import * as Aead from "effect/crypto/Aead"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { keyIdOf } from "../../Schemas/SealedSample.ts"
import { isSealingKey, keyForm } from "../../Schemas/SealingKey.ts"
import { SecretBox, SecretBoxError } from "../../Services/SecretBox.ts"

export const keyBytes = 32
const nonceBytes = 12
const version = "v1"
const utf8 = new TextEncoder()

/** A key that is none: the start ends with this sentence. */
export class SecretKeyInvalid extends Schema.TaggedError<SecretKeyInvalid>()("SecretKeyInvalid", {
  error: Schema.String
}) {}

/**
 * AES-256-GCM with a ring of keys: the current one seals, all open. A sealed text is
 * `v1.<key id>.<nonce>.<ciphertext>`; the row that it belongs to is in the additional data, so that it
 * opens nowhere else. Without a current key sealing is refused. `renew` makes a new key and keeps it where it is
 * found again, with the one before.
 */
export const layer = (keys: {
  readonly current: string | undefined
  readonly former: ReadonlyArray<string>
  readonly renew?: Effect.Effect<string, SecretBoxError>
}) =>
  Layer.effect(
    SecretBox,
    Effect.gen(function* () {
      const aead = yield* Aead.Aead
      const random = yield* SecureRandom.SecureRandom
      const current = keys.current === undefined ? undefined : yield* keyOf(keys.current)
      const former = yield* Effect.forEach(keys.former, keyOf)
      const ring = yield* Ref.make({
        current,
        all: new Map([...(current === undefined ? [] : [current]), ...former].map((key) => [key.id, key]))
      })

      return SecretBox.of({
        seal: Effect.fnUntraced(function* (row, secret) {
          const { current } = yield* Ref.get(ring)
          if (current === undefined) {
            return yield* new SecretBoxError({
              error: "can't be stored: this service has no AGENTD_SECRET_KEY"
            })
          }
          const nonce = yield* random.randomBytes(nonceBytes)
          const sealed = yield* Effect.orDie(
            aead.encrypt(current.key, utf8.encode(Redacted.value(secret)), { nonce, aad: utf8.encode(row) })
          )
          return [version, current.id, Base64Url.encode(nonce), Base64Url.encode(sealed)].join(".")
        }),
        open: Effect.fnUntraced(function* (row, sealed) {
          const [form, id, nonce, ciphertext, ...rest] = sealed.split(".")
          const key = (yield* Ref.get(ring)).all.get(id ?? "")
          if (form !== version || key === undefined || rest.length > 0) return yield* cannotOpen
          const parts = Result.all([Base64Url.decode(nonce ?? ""), Base64Url.decode(ciphertext ?? "")])
          if (Result.isFailure(parts)) return yield* cannotOpen
          const [nonceOf, sealedOf] = parts.success
          const opened = yield* aead
            .decrypt(key.key, sealedOf, { nonce: nonceOf, aad: utf8.encode(row) })
            .pipe(Effect.mapError(() => cannotOpen))
          return Redacted.make(new TextDecoder().decode(opened))
        }),
        sealedBy: Effect.fnUntraced(function* (sealed) {
          const id = keyIdOf(sealed)
          if (id === undefined) return "none"
          return id === (yield* Ref.get(ring)).current?.id ? "current" : "another"
        }),
        renew: Effect.gen(function* () {
          const key = yield* Effect.orDie(keyOf(yield* keys.renew ?? given))
          yield* Ref.update(ring, ({ all }) => ({ current: key, all: new Map([...all, [key.id, key]]) }))
        })
      })
    })
  ).pipe(Layer.provide(Aead.layerWebCrypto), Layer.provide(SecureRandom.layerWebCrypto))

/** The ids by which sealed texts name these keys. */
export const idsOf = (keys: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>, SecretKeyInvalid> =>
  Effect.map(Effect.forEach(keys, keyOf), (found) => new Set(found.map(({ id }) => id)))

/** What a malformed key is told. */
export const form = `a key is ${keyForm}`

const given = Effect.fail(
  new SecretBoxError({
    error:
      "the key is that of AGENTD_SECRET_KEY: set it to a new one (openssl rand -base64 32), and the one of before " +
      "in AGENTD_SECRET_KEYS_OLD, on every node"
  })
)

const cannotOpen = new SecretBoxError({ error: "can't be opened: its key is not in AGENTD_SECRET_KEYS_OLD" })

/** The id of a key tells nothing of it and is the same wherever the key is. */
const keyOf = Effect.fnUntraced(function* (base64: string) {
  if (!isSealingKey(base64)) {
    return yield* new SecretKeyInvalid({
      error: `AGENTD_SECRET_KEY and AGENTD_SECRET_KEYS_OLD: ${form}`
    })
  }
  const bytes = Buffer.from(base64, "base64")
  const id = createHash("sha256").update("agentd key id").update(bytes).digest("hex").slice(0, 8)
  return { id, key: yield* Effect.orDie(Aead.key(Aead.aes256Gcm, bytes)) }
})
