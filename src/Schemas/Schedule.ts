import { Cron } from "croner"
import * as Result from "effect/Result"

const aliases: ReadonlySet<string> = new Set(["@yearly", "@monthly", "@weekly", "@daily", "@hourly"])

/** After this PostgreSQL and JSON have no common form of an instant. */
const lastInstant = Date.UTC(9999, 11, 31, 23, 59, 59)

/** What is wrong with a schedule, and which field says it. */
export interface ScheduleProblem {
  readonly field: "schedule" | "timezone"
  readonly problem: string
}

/** Whether this is the name of an IANA time zone; an offset such as `+02:00` is none. */
export const isTimeZone = (name: string): boolean => {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch {
    return false
  }
}

/**
 * Up to `count` instants after `after` at which the schedule fires in the time zone, as croner 11 computes
 * them with its default daylight-saving rule. At least one, or the reason why there is none
 * (CONTRACT.md section 4, cron job): not an expression of 5 fields, 6 with seconds first, or an alias;
 * refused by croner; never fires; no IANA time zone.
 */
export const nextInstants = (
  schedule: string,
  timezone: string,
  after: Date,
  count: number
): Result.Result<ReadonlyArray<Date>, ScheduleProblem> => {
  if (!isTimeZone(timezone)) return invalid("timezone", "must be the name of an IANA time zone")
  const fields = schedule.trim().split(/\s+/u)
  if (fields.length === 1 && !aliases.has(schedule.trim().toLowerCase())) {
    return invalid("schedule", formOfExpression)
  }
  if (fields.length > 1 && fields.length !== 5 && fields.length !== 6) {
    return invalid("schedule", formOfExpression)
  }
  try {
    const instants = new Cron(schedule.trim(), { timezone, paused: true })
      .nextRuns(count, after)
      .filter((instant) => instant.getTime() <= lastInstant)
    return instants.length === 0 ? invalid("schedule", "never fires") : Result.succeed(instants)
  } catch (error) {
    return invalid("schedule", reasonOf(error))
  }
}

const formOfExpression =
  "must be a cron expression of 5 fields, of 6 with seconds first, or @yearly, @monthly, @weekly, @daily or @hourly"

const invalid = (field: ScheduleProblem["field"], problem: string) => Result.fail({ field, problem })

const reasonOf = (error: unknown): string =>
  `is not a valid cron expression: ${(error instanceof Error ? error.message : String(error)).replace(/^Cron\w+: /u, "")}`
