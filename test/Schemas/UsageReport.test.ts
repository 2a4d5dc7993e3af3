import { assert, describe, it } from "@effect/vitest"
import { nothingSpent } from "../../src/Schemas/Usage.ts"
import { toRunUsage, toUsageRow, usagePeriod } from "../../src/Schemas/UsageReport.ts"

const now = new Date("2026-11-22T20:15:00.000Z")
const of = (from?: string, to?: string) => usagePeriod({ from, to }, now)

describe("usagePeriod", () => {
  it("is this month till the end of today", () => {
    assert.deepStrictEqual(of(), { from: "2026-11-01", to: "2026-11-23" })
    const first = new Date("2026-11-01T00:00:00.000Z")
    assert.deepStrictEqual(usagePeriod({}, first), { from: "2026-11-01", to: "2026-11-02" })
    const last = new Date("2026-11-30T23:59:59.999Z")
    assert.deepStrictEqual(usagePeriod({}, last), { from: "2026-11-01", to: "2026-12-01" })
  })

  it("takes dates, the last one without its day", () => {
    assert.deepStrictEqual(of("2026-10-30", "2026-11-02"), { from: "2026-10-30", to: "2026-11-02" })
    assert.deepStrictEqual(of("2026-11-20"), { from: "2026-11-20", to: "2026-11-23" })
    assert.deepStrictEqual(of(undefined, "2026-10-01"), { from: "2026-09-01", to: "2026-10-01" })
  })

  it("widens time stamps to whole days of UTC", () => {
    assert.deepStrictEqual(of("2026-11-20T23:30:00+02:00", "2026-11-21T00:00:00.000Z"), {
      from: "2026-11-20",
      to: "2026-11-21"
    })
    assert.deepStrictEqual(of("2026-11-22T10:00:00Z", "2026-11-22T10:00:01Z"), {
      from: "2026-11-22",
      to: "2026-11-23"
    })
  })

  it("says what is wrong", () => {
    for (const text of ["", "yesterday", "2026-02-30", "2026-11-22 10:00", "2026-11-22T10:00", "2026-13-01"])
      assert.match(String(of(text)), /^from: must be a date such as/, text)
    assert.match(String(of("2026-11-01", "22")), /^to: must be a date such as/)
    assert.strictEqual(of("2026-11-02", "2026-11-02"), "to: must be after from")
    assert.strictEqual(of("2026-11-23"), "from: must not be after today")
    assert.strictEqual(of("2025-01-01", "2026-01-03"), "from: must be at most 366 days before to")
    assert.isObject(of("2025-01-01", "2026-01-02"))
  })
})

describe("costUsd", () => {
  it("is exact, and null where a part of it is not known", () => {
    const { costNanos: _, ...counts } = nothingSpent
    const sum = { ...counts, key: "x", runs: 1, turns: 0, costNanos: 1_234_567_891, unknownCalls: 0 }
    assert.strictEqual(toUsageRow(sum).costUsd, 1.234567891)
    assert.isNull(toUsageRow({ ...sum, unknownCalls: 1 }).costUsd)
    assert.notProperty(toUsageRow(sum), "unknownCalls")
    assert.strictEqual(toRunUsage({ ...nothingSpent, costNanos: 1 }).costUsd, 1e-9)
    assert.isNull(toRunUsage({ ...nothingSpent, costNanos: null }).costUsd)
  })
})
