import * as Schema from "effect/Schema"

const fields = { error: Schema.String }

/** 400: the request fails validation, or an id in it does not exist in its workspace. */
export class InvalidInput extends Schema.TaggedError<InvalidInput>()("InvalidInput", fields) {}

/** 401: no credential, or one that is unknown, expired or revoked. */
export class Unauthenticated extends Schema.TaggedError<Unauthenticated>()("Unauthenticated", fields) {}

/** 403: the caller may not do this in the workspace that it named. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", fields) {}

/** 404: the addressed resource does not exist, or lies where the caller can't see it. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", fields) {}

/** 429: too much at once, or in too short a time; `retryAfter` is in seconds. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  ...fields,
  retryAfter: Schema.optionalKey(Schema.Int)
}) {}

/** 503: the database can't be reached in time, or the service is draining. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", fields) {}

/** 409: a name that must be unique is taken. */
export class AlreadyExists extends Schema.TaggedError<AlreadyExists>()("AlreadyExists", fields) {}

/**
 * What a repository answers when a field of a row names what is gone, or is being removed: it was deleted behind the
 * check of the request. Who asked says what would be said a moment later.
 */
export class ReferenceGone extends Schema.TaggedError<ReferenceGone>()("ReferenceGone", {
  field: Schema.String
}) {}

/** The one sentence for an id that does not exist or belongs to another workspace (section 2). */
export const unknownReference = (field: string) =>
  new InvalidInput({ error: `${field}: does not exist in this workspace` })

/** The one sentence for a resource that does not exist or is out of the caller's sight. */
export const notFound = (kind: string) => new NotFound({ error: `${kind} not found` })
