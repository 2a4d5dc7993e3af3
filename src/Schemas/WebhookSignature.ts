import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"

/**
 * How messages are signed: Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec),
 * symmetric, `v1`: HMAC-SHA256 of `id.timestamp.body`. Pure; the HMAC itself is `effect/crypto/Mac`.
 */

export const secretPrefix = "whsec_"

/** How far the time stamp of a message may be from the receiver's clock, in seconds. */
export const toleranceSeconds = 300

/** The secret of these bytes, of which Standard Webhooks wants 24 to 64. */
export const secretOf = (bytes: Uint8Array): string => secretPrefix + Base64.encode(bytes)

/** The key that a secret names, `whsec_` and base64; undefined where it names none. */
export const keyOf = (secret: string): Uint8Array | undefined => {
  if (!secret.startsWith(secretPrefix)) return undefined
  const bytes = Result.getOrUndefined(Base64.decode(secret.slice(secretPrefix.length)))
  return bytes === undefined || bytes.length === 0 ? undefined : bytes
}

const utf8 = new TextEncoder()

/** What is signed of a message. */
export const signedOf = (id: string, seconds: number | string, body: Uint8Array): Uint8Array => {
  const head = utf8.encode(`${id}.${seconds}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  return signed
}

/** The value of `webhook-signature`: one of each key. */
export const signatureOf = (tags: ReadonlyArray<Uint8Array>): string =>
  tags.map((tag) => `v1,${Base64.encode(tag)}`).join(" ")

const mostTags = 8

/** What a value of `webhook-signature` says: the tags of `v1` alone, the first few. */
export const tagsOf = (signature: string): ReadonlyArray<Uint8Array> =>
  signature
    .split(" ", mostTags)
    .filter((one) => one.startsWith("v1,"))
    .flatMap((one) => {
      const tag = Result.getOrUndefined(Base64.decode(one.slice(3)))
      return tag === undefined ? [] : [tag]
    })
