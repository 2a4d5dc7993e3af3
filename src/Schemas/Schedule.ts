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

/** Before this croner knows no year, and after the other PostgreSQL and JSON have no common form of an instant. */
const firstYear = 1
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

/** Names that were found good: asking costs more than computing an instant. */
const knownZones = new Set<string>()
const mostKnownZones = 1_000

/** Whether this is the name of an IANA time zone; an offset such as `+02:00` is none. */
export const isTimeZone = (name: string): boolean => {
  if (knownZones.has(name)) return true
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
  } catch {
    return false
  }
  if (knownZones.size < mostKnownZones) knownZones.add(name)
  return true
}

/** A schedule in its time zone, ready to compute. */
export interface Instants {
  /** The first instant after `after` at which it fires; null where there is none. */
  readonly next: (after: Date) => Date | null
}

/**
 * The instants of a schedule in a time zone, as croner 11 computes them with its default daylight-saving rule,
 * from around `from` to 60 years later; or why it is none (CONTRACT.md section 4, cron job): not an expression
 * of 5 fields, 6 with seconds first, or an alias; refused by croner; no IANA time zone.
 */
export const instantsOf = (
  schedule: string,
  timezone: string,
  from: Date
): Result.Result<Instants, ScheduleProblem> => {
  const year = from.getUTCFullYear()
  const key = JSON.stringify([schedule, timezone, year])
  const ready = readyInstants.get(key)
  if (ready !== undefined) return Result.succeed(ready)
  if (!isTimeZone(timezone)) return invalid("timezone", "must be the name of an IANA time zone")
  const fields = fieldsOf(schedule)
  if (fields === undefined) return invalid("schedule", formOfExpression)
  if (!(year >= firstYear && year <= lastYear)) return Result.succeed({ next: () => null })
  try {
    const instants = computed(fields, timezone, year)
    if (readyInstants.size >= mostReadyInstants) readyInstants.clear()
    readyInstants.set(key, instants)
    return Result.succeed(instants)
  } catch (error) {
    return invalid("schedule", reasonOf(error))
  }
}

/** Reading an expression takes as long as computing from it, and jobs move on from slot to slot. */
const readyInstants = new Map<string, Instants>()
const mostReadyInstants = 1_000

/**
 * Croner tries every second of an hour that daylight saving skips, which is bounded here. No part of a minute is
 * skipped, so its first and last second tell whether any of it is there; and what is skipped has no hole, so
 * the first and last minute of an hour tell whether any of that is there.
 */
const computed = (fields: ReadonlyArray<string>, timezone: string, year: number): Instants => {
  const [seconds = "0", minutes = "*", hours = "*", ...days] = fields
  const years = `${Math.max(year - 1, firstYear)}-${Math.min(year + horizonYears, lastYear)}`
  const cronOf = (second: string, minute: string) =>
    new Cron([second, minute, hours, ...days, years].join(" "), { timezone, paused: true })
  const every = cronOf(seconds, minutes)
  const ends = (field: string) => (/^\d+$/u.test(field) ? field : endsOf(field))
  const [secondEnds, minuteEnds] = [ends(seconds), ends(minutes)]
  const isSparse = secondEnds === seconds
  if (isSparse && minuteEnds === minutes) return { next: (after) => every.nextRun(after) }
  const minutely = isSparse ? every : cronOf(secondEnds, minutes)
  const hourly = hours === "*" ? minutely : cronOf(secondEnds, minuteEnds)
  return {
    next: (after) => {
      if (hourly !== minutely && hourly.nextRun(after) === null) return null
      const near = minutely.nextRun(after)
      return near === null || minuteOf(near) > minuteOf(after) ? near : every.nextRun(after)
    }
  }
}

const minuteOf = (at: Date) => Math.floor(at.getTime() / 60_000)

/** The first and the last of the seconds or minutes that a field means; itself where they are one. */
const endsOf = (field: string): string => {
  const cron = new Cron(`${field} * * * * *`, { timezone: "UTC", paused: true })
  const first = cron.nextRun(new Date(-1))?.getUTCSeconds()
  const last = cron.previousRuns(1, new Date(60_000))[0]?.getUTCSeconds()
  return first === undefined || first === last ? field : `${first},${last}`
}

/**
 * The first `count` instants after `after`, or as many as there are until a gap of 60 years or the year 10000: at
 * least one, or the reason why there is none, as `instantsOf` says.
 */
export const nextInstants = (
  schedule: string,
  timezone: string,
  after: Date,
  count: number
): Result.Result<ReadonlyArray<Date>, ScheduleProblem> =>
  Result.flatMap(instantsOf(schedule, timezone, after), ({ next }) => {
    const instants: Array<Date> = []
    let following = next
    let at: Date | null = after
    while (instants.length < count) {
      const from: Date = at
      at = following(from)
      if (at === null && instants.length > 0) {
        // What lies behind the 60 years from `after` is computed from the last instant, as a job does that moves on.
        following = Result.getOrElse(instantsOf(schedule, timezone, from), () => ({ next })).next
        at = following(from)
      }
      if (at === null) break
      instants.push(at)
    }
    return instants.length === 0 ? invalid("schedule", "never fires") : Result.succeed(instants)
  })

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
