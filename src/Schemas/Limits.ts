import * as Schema from "effect/Schema"

/** The work went over one of its bounds (CONTRACT.md section 5). */
export class LimitExceeded extends Schema.TaggedError<LimitExceeded>()("LimitExceeded", {
  limit: Schema.Literals(["steps", "model_time", "tool_time", "run_time", "output"]),
  error: Schema.String
}) {}

export const outputExceeded = (maximum: number) =>
  new LimitExceeded({ limit: "output", error: `more than ${maximum} characters of text` })

export const stepsExceeded = (maximum: number) =>
  new LimitExceeded({ limit: "steps", error: `more than ${maximum} steps` })

export const workedTooLong = (maximumMillis: number) =>
  new LimitExceeded({ limit: "run_time", error: `worked for longer than ${maximumMillis / 1000} s` })

export const tooSlow = (limit: "model_time" | "tool_time", who: string, millis: number) =>
  new LimitExceeded({ limit, error: `${who} did not answer within ${millis / 1000} s` })
