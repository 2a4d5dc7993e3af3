import { mostDays } from "../../../../src/Schemas/UsageReport.ts"

const dayMillis = 86_400_000

/** Whole UTC days such as `2026-11-22`: from the first up to the other, without it. */
export interface Period {
  readonly from: string
  readonly to: string
}

export const periods = [
  { name: "month", label: "This month" },
  { name: "last-month", label: "Last month" },
  { name: "7", label: "Last 7 days" },
  { name: "30", label: "Last 30 days" },
  { name: "90", label: "Last 90 days" },
  { name: "365", label: "Last 365 days" },
  { name: "days", label: "From … to …" }
] as const

const dayOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

/** The period of a name, whose days are those of UTC, as usage is counted; this month where there is no such name. */
export const periodOf = (name: string | null, now: Date): Period => {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const tomorrow = Date.UTC(year, month, now.getUTCDate() + 1)
  switch (name) {
    case "last-month":
      return { from: dayOf(Date.UTC(year, month - 1, 1)), to: dayOf(Date.UTC(year, month, 1)) }
    case "7":
    case "30":
    case "90":
    case "365":
      return { from: dayOf(tomorrow - Number(name) * dayMillis), to: dayOf(tomorrow) }
    default:
      return { from: dayOf(Date.UTC(year, month, 1)), to: dayOf(tomorrow) }
  }
}

const isDay = (text: string | null): text is string =>
  text !== null && /^\d{4}-\d\d-\d\d$/u.test(text) && !Number.isNaN(Date.parse(text))

/** From one day to another, both included; undefined where one of them is no day. */
export const periodBetween = (first: string | null, last: string | null): Period | undefined =>
  isDay(first) && isDay(last) ? { from: first, to: dayOf(Date.parse(last) + dayMillis) } : undefined

/** The last day of a period. */
export const lastOf = ({ to }: Period): string => dayOf(Date.parse(to) - dayMillis)

/** Each day of a period, in order, as far as the service tells of them. */
export const daysOf = ({ from, to }: Period): ReadonlyArray<string> => {
  const days: Array<string> = []
  for (let at = Date.parse(from); at < Date.parse(to) && days.length < mostDays; at += dayMillis) {
    days.push(dayOf(at))
  }
  return days
}

/** What a month comes to if it goes on as it did: nothing is said of its first day. */
export const forecastOf = (used: number, now: Date): number | undefined => {
  const begun = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)
  const ends = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const passed = now.getTime() - begun
  return passed < dayMillis ? undefined : (used * (ends - begun)) / passed
}
