import * as Schema from "effect/Schema"
import { toUsd } from "./Pricing.ts"
import type { Spent } from "./Usage.ts"

/** By what usage is summed up (CONTRACT.md section 11). */
export const UsageGroup = Schema.Literals(["day", "agent", "model", "cronJob", "kind"])
export type UsageGroup = typeof UsageGroup.Type

const Count = Schema.Int
const counts = {
  modelCalls: Count,
  toolCalls: Count,
  inputTokens: Count,
  cachedInputTokens: Count,
  outputTokens: Count,
  /** US dollars; null where the cost of any call in it is not known. */
  costUsd: Schema.NullOr(Schema.Finite)
}

/** What a run has used, a chat turn alike. */
export const RunUsage = Schema.Struct(counts).annotate({ identifier: "RunUsage" })
export type RunUsage = typeof RunUsage.Type

export const UsageRow = Schema.Struct({
  key: Schema.NullOr(Schema.String),
  runs: Count,
  turns: Count,
  ...counts
}).annotate({ identifier: "UsageRow" })
export type UsageRow = typeof UsageRow.Type

/** A sum as it is stored. */
export interface UsageSum extends Omit<Spent, "costNanos"> {
  readonly key: string | null
  readonly runs: number
  readonly turns: number
  /** Of the calls whose cost is known. */
  readonly costNanos: number
  readonly unknownCalls: number
}

export const toRunUsage = ({ costNanos, ...spent }: Spent): RunUsage => ({
  ...spent,
  costUsd: toUsd(costNanos)
})

export const toUsageRow = ({ costNanos, unknownCalls, ...sum }: UsageSum): UsageRow => ({
  ...sum,
  costUsd: toUsd(unknownCalls > 0 ? null : costNanos)
})

/** Has what has no row of its own. */
export const otherKey = "other"

/** Whole UTC days, such as `2026-11-22`: from the first, up to the other without it. */
export interface UsagePeriod {
  readonly from: string
  readonly to: string
}

const dayMillis = 86_400_000
/** A year of days, also of a leap year. */
export const mostDays = 366

const dayOf = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

/** A date, or a time stamp with an offset. */
const instant = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/u

/** The moment that a text names; undefined where it names none, such as the 30th of February. */
const momentOf = (text: string): number | undefined => {
  if (!instant.test(text)) return undefined
  const millis = Date.parse(text)
  const date = Date.parse(text.slice(0, 10))
  if (Number.isNaN(millis) || Number.isNaN(date) || dayOf(date) !== text.slice(0, 10)) return undefined
  const year = new Date(millis).getUTCFullYear()
  return year >= 1 && year <= 9998 ? millis : undefined
}

const malformed = (field: string): string =>
  `${field}: must be a date such as 2026-11-22, or a time stamp such as 2026-11-22T00:00:00Z`

/**
 * The days that are asked for, or why there are none such, as a sentence. Time stamps are widened to whole days; without `to`
 * it is till the end of today, without `from` since the month began that the last day is in.
 */
export const usagePeriod = (
  asked: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: Date
): UsagePeriod | string => {
  const to = asked.to === undefined ? now.getTime() + 1 : momentOf(asked.to)
  if (to === undefined) return malformed("to")
  const end = Math.ceil(to / dayMillis) * dayMillis
  const lastDay = new Date(end - dayMillis)
  const from =
    asked.from === undefined
      ? Date.UTC(lastDay.getUTCFullYear(), lastDay.getUTCMonth(), 1)
      : momentOf(asked.from)
  if (from === undefined) return malformed("from")
  const start = Math.floor(from / dayMillis) * dayMillis
  if (asked.to !== undefined && asked.from !== undefined && to <= from) return "to: must be after from"
  if (end <= start) return "from: must not be after today"
  if (end - start > mostDays * dayMillis) return `from: must be at most ${mostDays} days before to`
  return { from: dayOf(start), to: dayOf(end) }
}
