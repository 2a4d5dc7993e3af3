import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { isTimeZone, nextInstants } from "../../src/Schemas/Schedule.ts"

const friday = "2026-11-20T08:00:00.000Z"

const next = (schedule: string, timezone = "UTC", after = friday, count = 1): ReadonlyArray<string> =>
  Result.getOrThrow(nextInstants(schedule, timezone, new Date(after), count)).map((at) => at.toISOString())

const problemOf = (schedule: string, timezone = "UTC", after = friday) => {
  const result = nextInstants(schedule, timezone, new Date(after), 1)
  return Result.isFailure(result) ? `${result.failure.field}: ${result.failure.problem}` : undefined
}

const form =
  "schedule: must be a cron expression of 5 fields, of 6 with seconds first, or @yearly, @monthly, @weekly, @daily or @hourly"

describe("a schedule", () => {
  it.each([
    ["* * * * *", "2026-11-20T08:01:00.000Z"],
    ["*/5 * * * *", "2026-11-20T08:05:00.000Z"],
    ["1-59/2 * * * *", "2026-11-20T08:01:00.000Z"],
    ["0,30 * * * *", "2026-11-20T08:30:00.000Z"],
    ["0 8 * * *", "2026-11-21T08:00:00.000Z"],
    ["0 9 * * 1-5", "2026-11-20T09:00:00.000Z"],
    ["0 7 * * MON-FRI", "2026-11-23T07:00:00.000Z"],
    ["0 0 * * 0", "2026-11-22T00:00:00.000Z"],
    ["0 0 * * 7", "2026-11-22T00:00:00.000Z"],
    ["0 0 1 jan *", "2027-01-01T00:00:00.000Z"],
    ["0 0 31 * *", "2026-12-31T00:00:00.000Z"],
    ["0 0 L * *", "2026-11-30T00:00:00.000Z"],
    ["0 0 LW * *", "2026-11-30T00:00:00.000Z"],
    ["0 0 15W * *", "2026-12-15T00:00:00.000Z"],
    ["0 0 * * 5#3", "2026-12-18T00:00:00.000Z"],
    ["0 0 * * FRI#L", "2026-11-27T00:00:00.000Z"],
    ["0 0 29 2 *", "2028-02-29T00:00:00.000Z"],
    ["0 0 1 * MON", "2026-11-23T00:00:00.000Z"],
    ["0 0 1 * +MON", "2027-02-01T00:00:00.000Z"],
    ["0 0 29 2 +MON#5", "2044-02-29T00:00:00.000Z"],
    ["  0\t8  * * *\n", "2026-11-21T08:00:00.000Z"]
  ])("of 5 fields: %j", (schedule, expected) => {
    assert.deepStrictEqual(next(schedule), [expected])
  })

  it.each([
    ["* * * * * *", "2026-11-20T08:00:01.000Z"],
    ["*/10 * * * * *", "2026-11-20T08:00:10.000Z"],
    ["30 0 8 * * *", "2026-11-20T08:00:30.000Z"],
    ["0 0 8 * * *", "2026-11-21T08:00:00.000Z"],
    ["59 59 23 31 12 *", "2026-12-31T23:59:59.000Z"]
  ])("of 6 fields has seconds first: %j", (schedule, expected) => {
    assert.deepStrictEqual(next(schedule), [expected])
  })

  it.each([
    ["@yearly", "2027-01-01T00:00:00.000Z"],
    ["@monthly", "2026-12-01T00:00:00.000Z"],
    ["@weekly", "2026-11-22T00:00:00.000Z"],
    ["@daily", "2026-11-21T00:00:00.000Z"],
    ["@hourly", "2026-11-20T09:00:00.000Z"],
    ["@DAILY", "2026-11-21T00:00:00.000Z"],
    [" @hourly ", "2026-11-20T09:00:00.000Z"]
  ])("by name: %j", (schedule, expected) => {
    assert.deepStrictEqual(next(schedule), [expected])
  })

  it.each([
    "",
    " ",
    "@",
    "@annually",
    "@midnight",
    "@reboot",
    "@every 5m",
    "2027-01-01",
    "2027-01-01T00:00:00",
    "2027-01-01T00:00:00Z",
    "2027-01-01 00:00:00",
    "* * * *",
    "* * * * * * *",
    "0 0 0 1 1 * 2027"
  ])("that has no such form is refused: %j", (schedule) => {
    assert.strictEqual(problemOf(schedule), form)
  })

  it.each([
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * 32 * *",
    "* * * 0 *",
    "* * * 13 *",
    "* * * * 8",
    "60 * * * * *",
    "-1 * * * *",
    "*/0 * * * *",
    "*/-1 * * * *",
    "*/70 * * * *",
    "5-1 * * * *",
    "1,2,,3 * * * *",
    "0 9 * * MON-",
    "0 0 1 Foo *",
    "0 0 L-3 * *",
    "a b c d e",
    "０ * * * *",
    "1e1 * * * *"
  ])("that croner refuses is refused with its reason: %j", (schedule) => {
    const problem = problemOf(schedule) ?? ""
    assert.match(problem, /^schedule: is not a valid cron expression: .{10}/u)
    assert.notInclude(problem, "CronPattern")
  })

  it.each(["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * * 30 2 *", "0 0 1 * +MON#5", "0 0 L 2 +MON#1"])(
    "that never fires is refused: %j",
    (schedule) => {
      assert.strictEqual(problemOf(schedule), "schedule: never fires")
      assert.strictEqual(problemOf(schedule, "Europe/Berlin"), "schedule: never fires")
    }
  )

  it("that falls into the lost hour of every year never fires", () => {
    assert.strictEqual(problemOf("*/30 2 25-31 3 +SUN", "Europe/Berlin"), "schedule: never fires")
    assert.deepStrictEqual(next("*/30 2 25-31 3 +SUN", "UTC"), ["2027-03-28T02:00:00.000Z"])
  })

  // Each of these meets hours that are lost, or days that never come; croner alone looks at every second of them.
  it.each([
    ["*/20 * 2 25-31 3 +SUN", "Europe/Berlin", friday],
    ["* * 1,2 25-31 3 +SUN", "Antarctica/Troll", friday],
    ["* * 2 25-31 3,10 +SUN", "Europe/Berlin", "2027-03-01T00:00:00.000Z"],
    ["0-59 0-59 2 8-14 3 +SUN", "America/New_York", friday],
    ["* * * * * *", "Europe/Berlin", "2027-03-28T00:59:59.000Z"],
    ["* * 0 2-8 9 +SUN", "America/Santiago", friday],
    ["* * * 30 2 *", "Europe/Berlin", friday],
    ["* * * 1-7 * +MON#5", "Europe/Berlin", friday],
    ["0 0 29 2 +MON#5", "UTC", friday]
  ])("is decided within 50 ms of computing: %s in %s", (schedule, zone, after) => {
    const costs = Array.from({ length: 3 }, (_, n) => {
      const before = process.cpuUsage()
      nextInstants(schedule, zone, new Date(Date.parse(after) + n), 1)
      const { system, user } = process.cpuUsage(before)
      return (system + user) / 1000
    })
    assert.isBelow(Math.min(...costs), 50, "milliseconds of computing")
  })

  it("has no instant that PostgreSQL and JSON can't hold", () => {
    for (const after of ["9999-12-31T23:59:59.000Z", "+010000-01-01T00:00:00.000Z"]) {
      assert.strictEqual(problemOf("* * * * * *", "UTC", after), "schedule: never fires")
    }
  })

  it("is not blamed on the time zone when it is asked for after the last instant of all", () => {
    assert.strictEqual(problemOf("* * * * *", "UTC", "+275760-09-13T00:00:00.000Z"), "schedule: never fires")
  })

  it("counts on from an instant, which itself is past, to as many as asked for", () => {
    assert.deepStrictEqual(next("0 * * * *", "UTC", "2026-11-20T07:59:59.999Z"), [friday])
    assert.deepStrictEqual(next("0 * * * *", "UTC", friday), ["2026-11-20T09:00:00.000Z"])
    assert.deepStrictEqual(next("0 * * * *", "UTC", "2026-11-20T08:00:00.001Z"), ["2026-11-20T09:00:00.000Z"])
    const many = next("*/15 * * * *", "UTC", friday, 100)
    assert.strictEqual(many.length, 100)
    assert.deepStrictEqual(
      many,
      many.map((_, index) => new Date(Date.parse(friday) + (index + 1) * 900_000).toISOString())
    )
  })

  it.each([
    ["@yearly", friday, 100, "2126-01-01T00:00:00.000Z"],
    ["0 0 29 2 *", friday, 100, "2436-02-29T00:00:00.000Z"],
    ["0 0 29 2 1", friday, 100, "2050-02-14T00:00:00.000Z"],
    ["0 0 29 2 +1", friday, 100, "4692-02-29T00:00:00.000Z"],
    ["@yearly", "9950-06-01T00:00:00.000Z", 49, "9999-01-01T00:00:00.000Z"],
    ["0 0 29 2 *", "9890-06-01T00:00:00.000Z", 26, "9996-02-29T00:00:00.000Z"]
  ])(
    "that is rare has as many as asked for, up to the year 10000: %s from %s",
    (schedule, after, count, last) => {
      const many = next(schedule, "UTC", after, 100)
      assert.strictEqual(many.length, count)
      assert.strictEqual(many.at(-1), last)
      // None is passed over: each is the next after the one before, as a job computes it.
      assert.deepStrictEqual(
        many,
        [after, ...many.slice(0, -1)].flatMap((before) => next(schedule, "UTC", before))
      )
    }
  )

  it("has whole seconds, whatever the moment it counts from", () => {
    assert.deepStrictEqual(next("* * * * * *", "UTC", "2026-11-20T08:00:00.999Z", 2), [
      "2026-11-20T08:00:01.000Z",
      "2026-11-20T08:00:02.000Z"
    ])
  })
})

describe("a time zone", () => {
  it.each(["UTC", "GMT", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+2", "Asia/Kathmandu"])(
    "has the name of one: %s",
    (zone) => assert.isTrue(isTimeZone(zone))
  )
  it.each([
    "",
    " ",
    "+02:00",
    "-0500",
    "UTC+1",
    "GMT+2",
    "Mars/Base",
    "Europe/Berlin ",
    "local",
    "Z",
    "\u0000"
  ])("is refused, and not replaced by that of the server: %j", (zone) => {
    assert.isFalse(isTimeZone(zone))
    assert.strictEqual(problemOf("* * * * *", zone), "timezone: must be the name of an IANA time zone")
  })
  it("is where the schedule is read", () => {
    assert.deepStrictEqual(next("0 9 * * *", "Europe/Berlin"), ["2026-11-21T08:00:00.000Z"])
    assert.deepStrictEqual(next("0 9 * * *", "America/New_York"), ["2026-11-20T14:00:00.000Z"])
    assert.deepStrictEqual(next("0 9 * * *", "Asia/Kathmandu"), ["2026-11-21T03:15:00.000Z"])
  })
})
