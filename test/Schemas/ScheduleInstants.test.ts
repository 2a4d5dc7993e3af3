import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { nextInstants } from "../../src/Schemas/Schedule.ts"

const next = (schedule: string, timezone: string, after: string, count = 1): ReadonlyArray<string> =>
  Result.getOrThrow(nextInstants(schedule, timezone, new Date(after), count)).map((at) => at.toISOString())

describe("at a daylight-saving change", () => {
  it.each([
    [
      "a fixed time in the gap fires once, right after it",
      "30 2 * * *",
      "Europe/Berlin",
      "2027-03-27T12:00Z",
      "2027-03-28T01:00Z 2027-03-29T00:30Z"
    ],
    [
      "steps skip the gap",
      "*/30 2 * * *",
      "Europe/Berlin",
      "2027-03-27T12:00Z",
      "2027-03-29T00:00Z 2027-03-29T00:30Z"
    ],
    [
      "every hour goes on over the gap",
      "0 * * * *",
      "Europe/Berlin",
      "2027-03-27T23:30Z",
      "2027-03-28T00:00Z 2027-03-28T01:00Z 2027-03-28T02:00Z"
    ],
    [
      "a fixed time that comes twice fires once",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      "2026-10-25T00:30Z 2026-10-26T01:30Z"
    ],
    [
      "steps run in both passes",
      "*/30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      "2026-10-25T00:00Z 2026-10-25T00:30Z 2026-10-25T01:00Z 2026-10-25T01:30Z 2026-10-26T01:00Z"
    ],
    [
      "every hour runs in both passes",
      "0 * * * *",
      "Europe/Berlin",
      "2026-10-24T23:30Z",
      "2026-10-25T00:00Z 2026-10-25T01:00Z 2026-10-25T02:00Z"
    ],
    [
      "a fixed time in the gap elsewhere",
      "30 2 * * *",
      "America/New_York",
      "2027-03-13T12:00Z",
      "2027-03-14T07:00Z 2027-03-15T06:30Z"
    ],
    [
      "lists run in both passes",
      "15,45 1 * * *",
      "America/New_York",
      "2026-10-31T12:00Z",
      "2026-11-01T05:15Z 2026-11-01T05:45Z 2026-11-01T06:15Z 2026-11-01T06:45Z 2026-11-02T06:15Z"
    ],
    [
      "a gap of half an hour",
      "0 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-03T12:00Z",
      "2026-10-03T15:30Z 2026-10-04T15:00Z"
    ],
    [
      "a gap at midnight",
      "30 0 * * *",
      "America/Sao_Paulo",
      "2018-11-03T12:00Z",
      "2018-11-04T03:00Z 2018-11-05T02:30Z"
    ]
  ])("%s", (_, schedule, timezone, after, expected) => {
    const instants = expected.split(" ")
    assert.deepStrictEqual(
      next(schedule, timezone, after, instants.length),
      instants.map((instant) => new Date(instant).toISOString())
    )
  })
})

const expressions = [
  "*/7 * * * *",
  "30 2 * * *",
  "*/20 2 * * *",
  "15,45 1-3 * * *",
  "0 */2 * * *",
  "0 0 L * *",
  "0 9 * * MON#1",
  "0 3 25-31 3 +SUN",
  "*/13 1 2 * * *",
  "5 30 1,2 * * *",
  "@daily",
  "@hourly"
] as const
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"] as const
/** Days around the changes of clocks in these zones. */
const days = ["2026-10-03", "2026-10-24", "2026-10-31", "2027-03-13", "2027-03-27", "2027-04-03"] as const

describe("the next instant", () => {
  it.prop(
    "is the same from every moment before it, and later ones follow from it",
    {
      schedule: Schema.Literals(expressions),
      zone: Schema.Literals(zones),
      day: Schema.Literals(days),
      second: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 * 86_400 })),
      part: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 }))
    },
    ({ day, part, schedule, second, zone }) => {
      const after = Date.parse(day) + second * 1000
      const three = next(schedule, zone, new Date(after).toISOString(), 3)
      const first = Date.parse(three[0] ?? "")
      assert.isAbove(first, after)
      const between = after + Math.floor(((first - after) * part) / 1000)
      assert.deepStrictEqual(next(schedule, zone, new Date(between).toISOString(), 3), three)
      // One by one, as the service moves a job on from each slot, they are the same.
      assert.deepStrictEqual(next(schedule, zone, three[0] ?? ""), three.slice(1, 2))
      assert.deepStrictEqual(next(schedule, zone, three[1] ?? ""), three.slice(2))
    },
    { arbitrary: { runs: 300 } }
  )

  it.each([
    ["*/20 2 * * *", "2026-10-24T23:00:00.000Z"],
    ["30 2 * * *", "2026-10-24T23:00:00.000Z"],
    ["30 2 * * *", "2027-03-28T00:00:00.000Z"],
    ["*/20 1-3 * * *", "2027-03-28T00:00:00.000Z"]
  ])("is the same from every second before it: %s from %s in Berlin", (schedule, from) => {
    let expected = next(schedule, "Europe/Berlin", from)[0] ?? ""
    for (let at = Date.parse(from); at < Date.parse(from) + 3 * 3_600_000; at += 1000) {
      const found = next(schedule, "Europe/Berlin", new Date(at).toISOString())[0] ?? ""
      if (at === Date.parse(expected)) {
        assert.isAbove(Date.parse(found), at)
        expected = found
      }
      if (found !== expected) assert.strictEqual(found, expected, `from ${new Date(at).toISOString()}`)
    }
  })
})
