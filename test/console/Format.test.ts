import { describe, expect, it } from "@effect/vitest"
import { bytes, cost, count, duration, firstLine, instant, relative } from "../../console/src/Format.ts"

describe("what the console says of times and numbers", () => {
  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [4_210, "4.2 s"],
    [59_999, "59 s"],
    [185_000, "3 m 5 s"],
    [7_800_000, "2 h 10 m"],
    [276_000_000, "3 d 4 h"]
  ])("a span of %i ms", (millis, said) => expect(duration(millis)).toBe(said))

  it("ages and what is to come", () => {
    const now = Date.parse("2026-11-22T08:00:00Z")
    const at = (millis: number) => relative(new Date(now + millis), now)
    expect([at(0), at(-4_000), at(-90_000), at(-7_300_000), at(3 * 86_400_000)]).toEqual([
      "now",
      "now",
      "1 m ago",
      "2 h ago",
      "in 3 d"
    ])
  })

  it("an instant by the clock of a time zone", () => {
    expect(instant(new Date("2026-07-01T22:30:05Z"), "Asia/Tokyo")).toBe("2026-07-02 07:30:05 GMT+9")
  })

  it("counts, sizes and costs, of which none is told larger than it is", () => {
    expect([999, 12_480, 999_999, 3_140_000].map(count)).toEqual(["999", "12.4k", "999k", "3.1M"])
    expect([1_023, 3_300, 5_000_000].map(bytes)).toEqual(["1023 B", "3.2 KB", "4.7 MB"])
    expect([null, 0, 0.00001, 0.0042, 0.25, 12.5].map(cost)).toEqual([
      "–",
      "$0",
      "< $0.0001",
      "$0.0042",
      "$0.250",
      "$12.50"
    ])
  })

  it("the first line that has something in it", () => {
    expect(firstLine("\n  Hello\nyou")).toBe("Hello")
    expect(firstLine("abcdef", 3)).toBe("abc…")
  })
})
