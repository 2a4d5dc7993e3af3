import { describe, expect, it } from "@effect/vitest"
import { daysOf, forecastOf, lastOf, periodBetween, periodOf } from "../../console/src/views/Usage/Period.ts"
import { byDay, csvOf, stacked, sumOf } from "../../console/src/views/Usage/Rows.ts"
import type { UsageRow } from "../../src/Schemas/UsageReport.ts"

const now = new Date("2026-03-01T23:30:00Z")

const row = (key: string | null, change: Partial<UsageRow> = {}): UsageRow => ({
  key,
  runs: 1,
  turns: 0,
  modelCalls: 2,
  toolCalls: 0,
  inputTokens: 10,
  cachedInputTokens: 4,
  outputTokens: 5,
  costUsd: 0.5,
  ...change
})

describe("a period of usage", () => {
  it.each([
    [null, "2026-03-01", "2026-03-02"],
    ["nonsense", "2026-03-01", "2026-03-02"],
    ["last-month", "2026-02-01", "2026-03-01"],
    ["7", "2026-02-23", "2026-03-02"],
    ["365", "2025-03-02", "2026-03-02"]
  ])("%s is whole days of UTC", (name, from, to) => expect(periodOf(name, now)).toEqual({ from, to }))

  it("has each of its days", () => {
    expect(daysOf(periodOf("last-month", now))).toHaveLength(28)
    expect(daysOf({ from: "2026-02-27", to: "2026-03-01" })).toEqual(["2026-02-27", "2026-02-28"])
  })

  it("is from one day to another, both included, and nothing of what is no day", () => {
    const period = periodBetween("2026-02-27", "2026-02-28")
    expect(period).toEqual({ from: "2026-02-27", to: "2026-03-01" })
    expect(lastOf({ from: "2026-02-27", to: "2026-03-01" })).toBe("2026-02-28")
    expect(periodBetween("2026-02-27", null)).toBeUndefined()
    expect(periodBetween("yesterday", "2026-02-27")).toBeUndefined()
    expect(periodBetween("2026-13-41", "2026-02-27")).toBeUndefined()
  })

  it("has no more days than the service tells of, however far they are apart", () =>
    expect(daysOf({ from: "0001-01-01", to: "9999-12-31" })).toHaveLength(366))

  it("comes to more as it goes on, of which nothing is said on its first day", () => {
    expect(forecastOf(10, now)).toBeUndefined()
    expect(forecastOf(10, new Date("2026-03-11T00:00:00Z"))).toBe(31)
  })
})

describe("rows of usage", () => {
  it("are added up; what one of them costs not being known, their cost is not", () => {
    expect(sumOf([row("a"), row("b")])).toMatchObject({ runs: 2, inputTokens: 20, costUsd: 1 })
    expect(sumOf([row("a"), row("b", { costUsd: null })]).costUsd).toBeNull()
    expect(sumOf([]).costUsd).toBe(0)
  })

  it("are there for each day", () => {
    const found = byDay([row("2026-02-28")], ["2026-02-27", "2026-02-28"])
    expect(found.map(({ inputTokens, key }) => [key, inputTokens])).toEqual([
      ["2026-02-27", 0],
      ["2026-02-28", 10]
    ])
  })

  it("are drawn one upon the other", () => {
    expect(
      stacked([
        [1, 2],
        [10, 0],
        [100, 3]
      ])
    ).toEqual([
      [1, 2],
      [11, 2],
      [111, 5]
    ])
  })

  it("are read in a spreadsheet as they are, and no name is a formula", () => {
    const names = new Map([["agent_1", '=HYPERLINK("x")']])
    expect(csvOf(names, [row("agent_1", { costUsd: null })]).split("\r\n")[1]).toBe(
      `agent_1,"'=HYPERLINK(""x"")",1,0,2,0,10,4,5,`
    )
  })
})
