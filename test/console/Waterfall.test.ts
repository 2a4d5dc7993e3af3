import { describe, expect, it } from "vitest"
import { axisOf, barOf, placeOf, type Span, ticksOf } from "../../console/src/views/Runs/Waterfall.ts"

const work = (from: number, to?: number): Span => ({ from, to, isWait: false })
const wait = (from: number, to?: number): Span => ({ from, to, isWait: true })
const hours = (count: number) => count * 3_600_000
const label = (millis: number) => `${millis} ms`

describe("the axis of a run", () => {
  it("has one scale where nothing waits for long", () => {
    const axis = axisOf([wait(0, 100), work(100, 600), work(600, 1_000)], 5_000)
    expect(axis.pieces).toHaveLength(1)
    expect(barOf(axis, work(100, 600))).toEqual({ left: 10, width: 50 })
    expect(placeOf(axis, 1_000)).toBe(100)
  })

  it("reaches to now while something goes on", () => {
    const axis = axisOf([work(0, 500), work(500)], 1_000)
    expect(barOf(axis, work(500))).toEqual({ left: 50, width: 50 })
  })

  it("folds hours of waiting, so that seconds of work beside them can be seen", () => {
    const approval = wait(4_000, hours(5))
    const last = work(hours(5), hours(5) + 2_000)
    const axis = axisOf([work(0, 4_000), approval, last], 0)
    expect(axis.pieces.map(({ isFolded }) => isFolded)).toEqual([false, true, false])
    expect(barOf(axis, work(0, 4_000)).width).toBeGreaterThan(50)
    expect(barOf(axis, approval).width).toBeCloseTo(5)
    expect(barOf(axis, last).width).toBeGreaterThan(25)
    expect(placeOf(axis, hours(5) + 2_000)).toBeCloseTo(100)
  })

  it("leaves the rest unfolded once the longest waits are", () => {
    const axis = axisOf([work(0, 1_000), wait(1_000, 2_500), work(2_500, 3_000), wait(3_000, hours(1))], 0)
    expect(axis.pieces.filter(({ isFolded }) => isFolded).map(({ from }) => from)).toEqual([3_000])
  })

  it("folds time that nobody worked in although no span says so", () => {
    const axis = axisOf([work(0, 1_000), work(hours(2), hours(2) + 1_000)], 0)
    expect(axis.pieces.map(({ isFolded }) => isFolded)).toEqual([false, true, false])
  })

  it("folds nothing as long as there is no work", () => {
    const axis = axisOf([wait(0)], hours(3))
    expect(axis.pieces).toHaveLength(1)
    expect(barOf(axis, wait(0))).toEqual({ left: 0, width: 100 })
  })

  it("gives a short step between two long waits some width", () => {
    const short = work(hours(1), hours(1) + 1)
    const axis = axisOf([work(0, 60_000), wait(60_000, hours(1)), short, wait(hours(1) + 1, hours(2))], 0)
    expect(barOf(axis, short).width).toBeGreaterThanOrEqual(4)
  })

  it("stays within its width however many waits there are", () => {
    const spans = Array.from({ length: 100 }, (_, index) => [
      work(hours(index), hours(index) + 50),
      wait(hours(index) + 50, hours(index + 1))
    ]).flat()
    const axis = axisOf(spans, 0)
    const end = axis.pieces.at(-1)
    expect((end?.left ?? 0) + (end?.width ?? 0)).toBeCloseTo(100)
    expect(axis.pieces.filter(({ isFolded }) => isFolded).length).toBeLessThanOrEqual(24)
    for (const { width } of axis.pieces) expect(width).toBeGreaterThan(0)
  })

  it("stands for no time at all, and for clocks that went back", () => {
    expect(barOf(axisOf([], 5), work(5, 5)).left).toBe(0)
    const axis = axisOf([work(10, 5)], 0)
    expect(barOf(axis, work(10, 5)).width).toBe(0)
  })
})

describe("the ticks of an axis", () => {
  it("are steps that people count in", () => {
    const axis = axisOf([work(0, 12_000)], 0)
    expect(ticksOf(axis, label).map((tick) => tick.label)).toEqual([
      "0",
      "2000 ms",
      "4000 ms",
      "6000 ms",
      "8000 ms",
      "10000 ms"
    ])
  })

  it("begin anew behind a folded wait, and say how long all has taken", () => {
    const axis = axisOf([work(0, 4_000), wait(4_000, hours(5)), work(hours(5), hours(5) + 4_000)], 0)
    expect(ticksOf(axis, label).map((tick) => tick.label)).toEqual([
      "0",
      "2000 ms",
      `${hours(5)} ms`,
      "+2000 ms"
    ])
  })

  it("keep a distance from each other and from the end", () => {
    const spans = Array.from({ length: 40 }, (_, index) => work(hours(index), hours(index) + 100))
    const ticks = ticksOf(axisOf(spans, 0), label)
    ticks.slice(1).forEach((tick, index) => {
      expect(tick.left - (ticks[index]?.left ?? 0)).toBeGreaterThanOrEqual(9)
    })
    expect(ticks.every(({ left }) => left <= 97)).toBe(true)
  })
})
