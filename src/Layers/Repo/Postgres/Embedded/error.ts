import * as Schema from "effect/Schema"

/** The embedded database can't be used; `message` is a sentence for the person who started agentd. */
export class EmbeddedDatabaseError extends Schema.TaggedError<EmbeddedDatabaseError>()(
  "EmbeddedDatabaseError",
  {
    message: Schema.String
  }
) {}

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
