import * as Schema from "effect/Schema"

/** The database can't be used, in a sentence for the operator. */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  error: Schema.String
}) {}
