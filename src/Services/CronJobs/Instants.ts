import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InvalidInput } from "../../Schemas/Errors.ts"
import { nextInstants } from "../../Schemas/Schedule.ts"

/** The next instants of what a caller gave as a schedule. */
export const instants = (schedule: string, timezone: string, after: Date, count: number) =>
  Effect.fromResult(
    Result.mapError(
      nextInstants(schedule, timezone, after, count),
      ({ field, problem }) => new InvalidInput({ error: `${field}: ${problem}` })
    )
  )
