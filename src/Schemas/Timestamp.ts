import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** An instant: a Date here and in rows of the database, UTC with milliseconds on the wire (section 2). */
export const Timestamp = Schema.Date.annotate({
  toCodecJson: () =>
    Schema.link<Date>()(Schema.String.annotate({ format: "date-time" }), SchemaTransformation.dateFromString)
})

const momentText = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/u

/** February has no 30th: a date that there is not would be taken for another. */
const isMoment = (value: string): boolean => {
  const day = momentText.exec(value)?.[1]
  if (day === undefined || Number.isNaN(Date.parse(value))) return false
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
}

/** A moment that a caller names (RFC 3339): without an offset it would be one of the time zone of the node. */
export const Moment = Schema.String.annotate({ format: "date-time" })
  .check(
    Schema.makeFilter((value: string) =>
      isMoment(value) ? undefined : "must be a time stamp with its offset, like 2026-11-20T08:00:00.000Z"
    )
  )
  .pipe(Schema.decodeTo(Schema.Date, SchemaTransformation.dateFromString))
