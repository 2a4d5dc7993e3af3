import * as Schema from "effect/Schema"
import { RunId, UserId, WorkspaceId } from "./Ids.ts"
import { sortedJson } from "./Json.ts"
import { Timestamp } from "./Timestamp.ts"

/** 409: the key was used for another request, or its answer can't be given again. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {
  error: Schema.String
}) {}

/** 409: the first request with this key is still at work; `retryAfter` is in seconds. */
export class IdempotencyInProgress extends Schema.TaggedError<IdempotencyInProgress>()(
  "IdempotencyInProgress",
  { error: Schema.String, retryAfter: Schema.optionalKey(Schema.Int) }
) {}

/** Of more than these, a key knows that its request was done, and no more what was answered. */
export const mostAnswerBytes = 1024 * 1024

/** An answer as it is kept to be given again, but for what every answer has. */
export const KeptAnswer = Schema.Struct({
  status: Schema.Int,
  headers: Schema.Record(Schema.String, Schema.String),
  /** As `Set-Cookie` has them. */
  cookies: Schema.Array(Schema.String),
  contentType: Schema.String,
  body: Schema.String
})
export type KeptAnswer = typeof KeptAnswer.Type

/**
 * What is known of a key that was used. One of `answer` (JSON), `sealed` (the same, sealed for `id`) and `turnId` (a
 * chat turn, whose events are the answer); none where the answer was too large.
 */
export const StoredIdempotencyKey = Schema.Struct({
  /** A digest of user, method, path and key: what a client has put into a key is not stored. */
  id: Schema.String,
  userId: UserId,
  /** That the request was about: who is no member of it any more is not told what was answered. */
  workspaceId: Schema.NullOr(WorkspaceId),
  /** A digest of what was asked. */
  request: Schema.String,
  answer: Schema.NullOr(Schema.String),
  sealed: Schema.NullOr(Schema.String),
  turnId: Schema.NullOr(RunId),
  createdAt: Timestamp,
  expiresAt: Timestamp
})
export type StoredIdempotencyKey = typeof StoredIdempotencyKey.Type

/**
 * The key of a header: 1 to 255 visible ASCII characters, or a string of structured fields (RFC 8941, section 3.3.3) of
 * as many; undefined where it is neither. Both spell the same key.
 */
export const keyOfHeader = (header: string): string | undefined => {
  const text = header.trim()
  const key = text.startsWith('"') ? unquoted(text) : text
  return key !== undefined && /^[\x21-\x7e]{1,255}$/.test(key) ? key : undefined
}

const unquoted = (text: string): string | undefined =>
  /^"(?:[^"\\]|\\["\\])*"$/.test(text) ? text.slice(1, -1).replace(/\\(["\\])/g, "$1") : undefined

export const keySentence =
  "Idempotency-Key: must be 1 to 255 visible ASCII characters, with or without quotes around them"

/** The same text of what is the same request: neither white space nor the order of members of an object matters. */
export const requestText = (query: Schema.Json, body: Schema.Json): string =>
  JSON.stringify(sortedJson([query, body]))
