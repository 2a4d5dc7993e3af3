import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Schema from "effect/Schema"
import { isFaceBody } from "./Face.ts"

const shortBytes = 64 * 1024
const longBytes = 1024 * 1024

/** How many bytes a character has at most, written as two escapes: `\ud83d\ude00`. */
const bytesOfCharacter = 12

/**
 * How many bytes the body of a request to an endpoint may have: 1 MiB where a long text is a field of it, 64 KiB
 * elsewhere (CONTRACT.md section 10). A text is long where one may not fit into 64 KiB, however it is written; what is
 * asked through a face may have one, and conversations.
 */
export const bodyLimit = ({ payload }: Pick<HttpApiEndpoint.Top, "payload">): number => {
  const known = limits.get(payload)
  if (known !== undefined) return known
  const schemas = [...payload.values()].flatMap((given): ReadonlyArray<Schema.Top> => given.schemas)
  const limit = schemas.some((schema) => isFaceBody(schema) || hasLongText(schema)) ? longBytes : shortBytes
  limits.set(payload, limit)
  return limit
}

const limits = new WeakMap<object, number>()

const hasLongText = (schema: Schema.Top): boolean => {
  const document = JSON.stringify(Schema.toJsonSchemaDocument(schema))
  return [...document.matchAll(/"maxLength":(\d+)/gu)].some(
    ([, length]) => Number(length) * bytesOfCharacter > shortBytes
  )
}

/** The limit as people say it. */
export const bodyLimitText = (limit: number): string => (limit === longBytes ? "1 MiB" : "64 KiB")
