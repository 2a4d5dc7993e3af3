import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { nextInstants } from "../../src/Schemas/Schedule.ts"

type Case = readonly [what: string, schedule: string, timezone: string, after: string, expected: string]

/**
 * From the rule that croner documents: a fixed time (one second, minute and hour) that the clock skips fires once,
 * at the first instant behind the gap, and once where it comes twice; steps, ranges, lists and wildcards skip
 * the gap and run in both passes. The instants were worked out from the changes of these zones.
 */
const table: ReadonlyArray<Case> = [
  // Half an hour: 02:00 → 02:30 (+10:30 → +11) and 02:00 → 01:30.
  [
    "half an hour skipped, fixed",
    "15 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-03T12:00Z",
    "2026-10-03T15:30Z 2026-10-04T15:15Z"
  ],
  [
    "half an hour skipped, behind it",
    "45 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-03T12:00Z",
    "2026-10-03T15:45Z 2026-10-04T15:45Z"
  ],
  [
    "half an hour skipped, steps",
    "*/15 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-03T12:00Z",
    "2026-10-03T15:30Z 2026-10-03T15:45Z 2026-10-04T15:00Z"
  ],
  [
    "half an hour skipped, every minute",
    "* 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-03T12:00Z",
    "2026-10-03T15:30Z 2026-10-03T15:31Z"
  ],
  [
    "half an hour twice, fixed",
    "45 1 * * *",
    "Australia/Lord_Howe",
    "2027-04-03T12:00Z",
    "2027-04-03T14:45Z 2027-04-04T15:15Z"
  ],
  [
    "half an hour twice, steps",
    "*/15 1 * * *",
    "Australia/Lord_Howe",
    "2027-04-03T12:00Z",
    "2027-04-03T14:00Z 2027-04-03T14:15Z 2027-04-03T14:30Z 2027-04-03T14:45Z 2027-04-03T15:00Z 2027-04-03T15:15Z 2027-04-04T14:30Z"
  ],
  // Two hours: 01:00 → 03:00 (+0 → +2) and 03:00 → 01:00.
  [
    "two hours skipped, fixed in the first",
    "30 1 * * *",
    "Antarctica/Troll",
    "2027-03-27T12:00Z",
    "2027-03-28T01:00Z 2027-03-28T23:30Z"
  ],
  [
    "two hours skipped, fixed in the second",
    "30 2 * * *",
    "Antarctica/Troll",
    "2027-03-27T12:00Z",
    "2027-03-28T01:00Z 2027-03-29T00:30Z"
  ],
  [
    "two hours skipped, every hour",
    "0 * * * *",
    "Antarctica/Troll",
    "2027-03-27T23:30Z",
    "2027-03-28T00:00Z 2027-03-28T01:00Z 2027-03-28T02:00Z"
  ],
  [
    "two hours skipped, a range",
    "0 1-3 * * *",
    "Antarctica/Troll",
    "2027-03-27T12:00Z",
    "2027-03-28T01:00Z 2027-03-28T23:00Z"
  ],
  [
    "two hours twice, fixed",
    "30 1 * * *",
    "Antarctica/Troll",
    "2026-10-24T12:00Z",
    "2026-10-24T23:30Z 2026-10-26T01:30Z"
  ],
  [
    "two hours twice, a range",
    "0 1-2 * * *",
    "Antarctica/Troll",
    "2026-10-24T12:00Z",
    "2026-10-24T23:00Z 2026-10-25T00:00Z 2026-10-25T01:00Z 2026-10-25T02:00Z 2026-10-26T01:00Z"
  ],
  // A gap that begins in the middle of an hour: 02:45 → 03:45 (+12:45 → +13:45).
  [
    "a gap across two hours, before it",
    "30 2 * * *",
    "Pacific/Chatham",
    "2026-09-26T12:00Z",
    "2026-09-26T13:45Z 2026-09-27T12:45Z"
  ],
  [
    "a gap across two hours, fixed in it",
    "50 2 * * *",
    "Pacific/Chatham",
    "2026-09-26T12:00Z",
    "2026-09-26T14:00Z 2026-09-27T13:05Z"
  ],
  [
    "a gap across two hours, steps",
    "*/20 2,3 * * *",
    "Pacific/Chatham",
    "2026-09-26T12:00Z",
    "2026-09-26T13:15Z 2026-09-26T13:35Z 2026-09-26T13:55Z 2026-09-27T12:15Z"
  ],
  // Midnight is skipped.
  [
    "no midnight in Cairo, fixed",
    "0 0 * * *",
    "Africa/Cairo",
    "2027-04-29T12:00Z",
    "2027-04-29T22:00Z 2027-04-30T21:00Z"
  ],
  [
    "no midnight in Cairo, every half hour",
    "*/30 0 * * *",
    "Africa/Cairo",
    "2027-04-29T12:00Z",
    "2027-04-30T21:00Z"
  ],
  [
    "no midnight in Beirut, @daily",
    "@daily",
    "Asia/Beirut",
    "2027-03-27T12:00Z",
    "2027-03-27T22:00Z 2027-03-28T21:00Z"
  ],
  [
    "no midnight in São Paulo, on that day of the month alone",
    "0 0 4 11 *",
    "America/Sao_Paulo",
    "2018-10-01T00:00Z",
    "2018-11-04T03:00Z 2019-11-04T03:00Z"
  ],
  [
    "midnight twice in Beirut, the hour before",
    "30 23 * * *",
    "Asia/Beirut",
    "2026-10-24T12:00Z",
    "2026-10-24T20:30Z 2026-10-25T21:30Z"
  ],
  [
    "23 h twice in São Paulo, every half hour",
    "*/30 23 * * *",
    "America/Sao_Paulo",
    "2018-02-17T12:00Z",
    "2018-02-18T01:00Z 2018-02-18T01:30Z 2018-02-18T02:00Z 2018-02-18T02:30Z 2018-02-19T02:00Z"
  ],
  // A whole day is skipped: the 30th of December 2011.
  [
    "the skipped day, other days",
    "0 12 * * *",
    "Pacific/Apia",
    "2011-12-29T00:00Z",
    "2011-12-29T22:00Z 2011-12-30T22:00Z"
  ],
  [
    "the skipped day, every hour goes on",
    "0 * * * *",
    "Pacific/Apia",
    "2011-12-30T08:30Z",
    "2011-12-30T09:00Z 2011-12-30T10:00Z 2011-12-30T11:00Z"
  ],
  // Both directions elsewhere.
  [
    "seconds go on over the gap",
    "*/30 59 * * * *",
    "Europe/Berlin",
    "2027-03-28T00:59:00Z",
    "2027-03-28T00:59:30Z 2027-03-28T01:59:00Z"
  ],
  [
    "a list over the gap",
    "0 1,2,3 * * *",
    "America/New_York",
    "2027-03-14T04:00Z",
    "2027-03-14T06:00Z 2027-03-14T07:00Z 2027-03-15T05:00Z"
  ],
  [
    "the second pass of a range",
    "30 1-2 * * *",
    "Europe/London",
    "2026-10-24T12:00Z",
    "2026-10-25T00:30Z 2026-10-25T01:30Z 2026-10-25T02:30Z 2026-10-26T01:30Z"
  ],
  [
    "a fixed time in the gap in London",
    "30 1 * * *",
    "Europe/London",
    "2027-03-27T12:00Z",
    "2027-03-28T01:00Z 2027-03-29T00:30Z"
  ],
  [
    "a fixed time that comes twice in New York",
    "30 1 * * *",
    "America/New_York",
    "2026-10-31T12:00Z",
    "2026-11-01T05:30Z 2026-11-02T06:30Z"
  ],
  [
    "on the other half of the globe",
    "30 2 * * *",
    "Australia/Sydney",
    "2026-10-03T00:00Z",
    "2026-10-03T16:00Z 2026-10-04T15:30Z"
  ],
  [
    "a weekday that is the day of the change",
    "30 2 * * SUN",
    "Europe/Berlin",
    "2027-03-22T00:00Z",
    "2027-03-28T01:00Z 2027-04-04T00:30Z"
  ],
  ["none at all", "30 2 * * *", "Asia/Kathmandu", "2027-03-27T12:00Z", "2027-03-27T20:45Z 2027-03-28T20:45Z"],
  // Days of the calendar.
  ["a leap day", "0 12 29 2 *", "Europe/Berlin", "2026-11-20T00:00Z", "2028-02-29T11:00Z 2032-02-29T11:00Z"],
  ["a century without a leap day", "0 0 29 2 *", "UTC", "2096-03-01T00:00Z", "2104-02-29T00:00Z"],
  [
    "the last day of the month",
    "0 0 L * *",
    "UTC",
    "2028-01-15T00:00Z",
    "2028-01-31T00:00Z 2028-02-29T00:00Z 2028-03-31T00:00Z"
  ],
  [
    "the last day, on which the clock changes",
    "30 2 L 3 *",
    "Europe/Berlin",
    "2024-03-01T00:00Z",
    "2024-03-31T01:00Z 2025-03-31T00:30Z"
  ],
  [
    "the last weekday of the month",
    "0 9 LW * *",
    "Europe/Berlin",
    "2027-01-15T00:00Z",
    "2027-01-29T08:00Z 2027-02-26T08:00Z"
  ],
  [
    "the weekday nearest to a Saturday",
    "0 9 15W * *",
    "UTC",
    "2027-05-01T00:00Z",
    "2027-05-14T09:00Z 2027-06-15T09:00Z"
  ],
  [
    "the weekday nearest to a first that is a Saturday",
    "0 9 1W * *",
    "UTC",
    "2027-04-15T00:00Z",
    "2027-05-03T09:00Z"
  ],
  [
    "the second Tuesday",
    "0 9 * * TUE#2",
    "America/New_York",
    "2026-11-20T00:00Z",
    "2026-12-08T14:00Z 2027-01-12T14:00Z"
  ],
  [
    "the last Sunday, on which the clock changes",
    "30 2 * 3,10 SUN#L",
    "Europe/Berlin",
    "2026-10-01T00:00Z",
    "2026-10-25T00:30Z 2027-03-28T01:00Z"
  ]
]

describe("the instants of a schedule in its zone", () => {
  it.each(table)("%s", (_, schedule, timezone, after, expected) => {
    const instants = expected.split(" ")
    const found = Result.getOrThrow(nextInstants(schedule, timezone, new Date(after), instants.length))
    assert.deepStrictEqual(
      found.map((at) => at.toISOString()),
      instants.map((instant) => new Date(instant).toISOString())
    )
  })

  it.each(table)(
    "one by one, from a second before and from the slot itself: %s",
    (_, schedule, timezone, after, expected) => {
      const next = (from: number) =>
        Result.getOrThrow(nextInstants(schedule, timezone, new Date(from), 1))[0]?.getTime()
      let from = Date.parse(after)
      for (const instant of expected.split(" ").map((text) => Date.parse(text))) {
        assert.strictEqual(next(from), instant)
        assert.strictEqual(next(instant - 1_000), instant)
        assert.strictEqual(next(instant - 1), instant)
        from = instant
      }
    }
  )
})
