import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { metadataRow, sealedField, splitMetadata } from "../Schemas/ConnectorSecrets.ts"
import { headersRow } from "../Schemas/ConnectorServer.ts"
import { SecretBox, SecretBoxError } from "./SecretBox.ts"

const decodeObject = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.JsonObject))

/** Metadata of a connector with what is secret in it sealed for its row; the error names the field. */
export const make = Effect.gen(function* () {
  const box = yield* SecretBox

  const seal = (row: string, field: string, secret: Schema.Json) =>
    Effect.mapError(
      box.seal(row, Redacted.make(JSON.stringify(secret))),
      ({ error }) => new SecretBoxError({ error: `metadata.${field}: ${error}` })
    )

  /** What was sealed before, with what is secret now. */
  const sealed = Effect.fnUntraced(function* (id: string, before: Schema.Json, secret: Schema.JsonObject) {
    const [field = ""] = Object.keys(secret)
    if (typeof before !== "string") return yield* seal(metadataRow(id), field, secret)
    const opened = yield* box.open(metadataRow(id), before)
    const members = yield* Effect.mapError(
      decodeObject(Redacted.value(opened)),
      () => new SecretBoxError({ error: `metadata.${field}: can't be sealed with what is sealed` })
    )
    return yield* seal(metadataRow(id), field, { ...members, ...secret })
  })

  return {
    /** Of metadata as users give it: the credential apart. */
    given: Effect.fnUntraced(function* (id: string, metadata: Schema.JsonObject) {
      const { credential, headers, ...rest } = metadata
      const { open, secret } = splitMetadata(rest)
      return {
        metadata: {
          ...open,
          ...(secret !== undefined && { [sealedField]: yield* sealed(id, null, secret) }),
          ...(headers !== undefined && { headers: yield* seal(headersRow(id), "headers", headers) })
        },
        sealedCredential: credential === undefined ? null : yield* seal(id, "credential", credential)
      }
    }),
    /** Of metadata as it is stored; undefined where nothing is left to be sealed. */
    stored: Effect.fnUntraced(function* (id: string, metadata: Schema.JsonObject) {
      const { headers, [sealedField]: before = null, ...rest } = metadata
      const { open, secret } = splitMetadata(rest)
      const hasHeaders = headers !== undefined && typeof headers !== "string"
      if (secret === undefined && !hasHeaders) return undefined
      const kept = secret === undefined ? before : yield* sealed(id, before, secret)
      return {
        ...open,
        ...(kept !== null && { [sealedField]: kept }),
        ...(headers !== undefined && {
          headers: hasHeaders ? yield* seal(headersRow(id), "headers", headers) : headers
        })
      }
    })
  }
})

/** Whether metadata as it is stored holds secrets that are not sealed. */
export const isPlain = ({ headers, [sealedField]: _, ...rest }: Schema.JsonObject): boolean =>
  (headers !== undefined && typeof headers !== "string") || splitMetadata(rest).secret !== undefined
