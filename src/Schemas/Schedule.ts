import { Cron } from "croner"
import * as Result from "effect/Result"

/** What the aliases mean, with seconds first. */
const aliases: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 0 1 1 *"],
  ["@monthly", "0 0 0 1 * *"],
  ["@weekly", "0 0 0 * * 0"],
  ["@daily", "0 0 0 * * *"],
  ["@hourly", "0 0 * * * *"]
])

/** After this PostgreSQL and JSON have no common form of an instant. */
const lastYear = 9999

/**
 * How far ahead is looked for an instant. Croner searches second by second without a limit of its own: a
 * schedule that lies in the hour that daylight saving skips holds it up for a minute.
 */
const horizonYears = 60

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
  const fields = fieldsOf(schedule)
  if (fields === undefined) return invalid("schedule", formOfExpression)
  const year = after.getUTCFullYear()
  if (!(year <= lastYear)) return invalid("schedule", "never fires")
  const years = `${year - 1}-${Math.min(year + horizonYears, lastYear)}`
  const withSeconds = (seconds: string) =>
    new Cron([seconds, ...fields.slice(1), years].join(" "), { timezone, paused: true })
  try {
    const [seconds = "0"] = fields
    const cron = withSeconds(seconds)
    // Whether any minute fits is found out with few seconds of it: all of them would take sixty times as long.
    const fires = /^\d+$/u.test(seconds) || withSeconds("0,1").nextRun(after) !== null
    const instants = fires ? cron.nextRuns(count, after) : []
    return instants.length === 0 ? invalid("schedule", "never fires") : Result.succeed(instants)
  } catch (error) {
    return invalid("schedule", reasonOf(error))
  }
}

/** The six fields of an expression; undefined for what is none, an alias that is unknown among them. */
const fieldsOf = (schedule: string): ReadonlyArray<string> | undefined => {
  const given = schedule.trim().split(/\s+/u)
  switch (given.length) {
    case 1:
      return aliases.get(schedule.trim().toLowerCase())?.split(" ")
    case 5:
      return ["0", ...given]
    case 6:
      return given
    default:
      return undefined
  }
}

const formOfExpression =
  "must be a cron expression of 5 fields, of 6 with seconds first, or @yearly, @monthly, @weekly, @daily or @hourly"

const invalid = (field: ScheduleProblem["field"], problem: string) => Result.fail({ field, problem })

/** Croner counts days and months from 0 in what it says, so the number is left out. */
const reasonOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const reason = message.replace(/^Cron\w+: /u, "").replace(/^(Invalid value for (?:day|month)): .*$/u, "$1")
  return `is not a valid cron expression: ${reason}`
}
