import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** An instant: a Date here and in rows of the database, UTC with milliseconds on the wire (section 2). */
export const Timestamp = Schema.Date.annotate({
  toCodecJson: () =>
    Schema.link<Date>()(Schema.String.annotate({ format: "date-time" }), SchemaTransformation.dateFromString)
})
