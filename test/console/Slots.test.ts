import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import * as Slots from "../../console/src/views/Schedules/Slots.ts"
import { CronFire, FireOutcome } from "../../src/Schemas/CronFire.ts"
import { RunStatus } from "../../src/Schemas/Run.ts"

const decode = Schema.decodeUnknownSync(Schema.toCodecJson(CronFire))

const fire = (second: number, outcome: FireOutcome = "fired", runId: string | null = `run_${second}`) =>
  decode({
    scheduledAt: new Date(second * 1_000).toISOString(),
    firedAt: new Date(second * 1_000 + 20).toISOString(),
    outcome,
    runId: outcome === "fired" || outcome === "backfilled" ? runId : null,
    lagMs: 20
  })

const none: Slots.Statuses = new Map()

describe("what is shown of a slot", () => {
  it("is how its run ended, if it made one, and else why it did not", () => {
    const statuses: Slots.Statuses = new Map([
      ["run_1", "FAILED"],
      ["run_2", "COMPLETED"]
    ])
    expect(Slots.kindOf(fire(1), statuses)).toBe("failed")
    expect(Slots.kindOf(fire(2, "backfilled"), statuses)).toBe("completed")
    expect(Slots.kindOf(fire(3), statuses)).toBe("fired")
    expect(Slots.kindOf(fire(2, "fired", null), statuses)).toBe("fired")
    for (const outcome of ["overlap", "missed", "agent_inactive", "budget_exceeded"] as const) {
      expect(Slots.kindOf(fire(1, outcome), statuses)).toBe(outcome)
    }
  })

  it("has a word and a mark of its own for every outcome and every end", () => {
    const kinds = new Set<Slots.Kind>()
    for (const outcome of FireOutcome.literals) {
      for (const status of RunStatus.literals) {
        kinds.add(Slots.kindOf(fire(1, outcome), new Map([["run_1", status]])))
      }
    }
    const looks = [...kinds].map((kind) => Slots.looks[kind])
    expect(new Set(looks.map(({ mark }) => mark)).size).toBe(looks.length)
    expect(new Set(looks.map(({ word }) => word)).size).toBe(looks.length)
  })

  it("is counted in the order of the legend, and told in a sentence", () => {
    const fires = [fire(5, "missed"), fire(4), fire(3, "missed"), fire(2)]
    const statuses: Slots.Statuses = new Map([
      ["run_4", "FAILED"],
      ["run_2", "COMPLETED"]
    ])
    expect(Slots.countKinds(fires, statuses)).toStrictEqual([
      ["completed", 1],
      ["failed", 1],
      ["missed", 2]
    ])
    expect(Slots.summary(fires, statuses)).toBe("The last 4 slots: 1 completed, 1 failed, 2 missed.")
    expect(Slots.summary([], none)).toBe("No slot yet.")
  })

  it("tells how late it was handled", () => {
    expect(Slots.lagWords(fire(1))).toBe("fired 20 ms after its instant")
    expect(Slots.lagWords(fire(1, "missed"))).toBe("settled 20 ms after its instant")
  })
})

describe("pages of the ledger", () => {
  const times = (fires: ReadonlyArray<CronFire>) =>
    fires.map(({ scheduledAt }) => scheduledAt.getTime() / 1_000)

  it("are one list, newest first, in which each slot is once as it was read last", () => {
    const merged = Slots.merge(
      [fire(3), fire(2, "missed")],
      [fire(4), fire(3), fire(2, "backfilled"), fire(1)],
      10
    )
    expect(times(merged)).toStrictEqual([4, 3, 2, 1])
    expect(merged[2]?.outcome).toBe("backfilled")
  })

  it("keep no more than is said, the newest", () => {
    expect(times(Slots.merge([fire(1), fire(2)], [fire(3)], 2))).toStrictEqual([3, 2])
  })

  it("are joined if nothing lies between them", () => {
    expect(Slots.isJoined([], [])).toBe(true)
    expect(Slots.isJoined([fire(3)], [fire(5), fire(4), fire(3)])).toBe(true)
    expect(Slots.isJoined([fire(3)], [fire(9), fire(8)])).toBe(false)
  })
})

describe("keys in the strip", () => {
  it("lead to the cells beside, above and below, and not over an end", () => {
    expect(Slots.move("ArrowLeft", 5, 10, 4)).toBe(4)
    expect(Slots.move("ArrowRight", 5, 10, 4)).toBe(6)
    expect(Slots.move("ArrowUp", 5, 10, 4)).toBe(1)
    expect(Slots.move("ArrowDown", 5, 10, 4)).toBe(9)
    expect(Slots.move("ArrowDown", 7, 10, 4)).toBe(7)
    expect(Slots.move("ArrowLeft", 0, 10, 4)).toBe(0)
    expect(Slots.move("Home", 5, 10, 4)).toBe(0)
    expect(Slots.move("End", 5, 10, 4)).toBe(9)
    expect(Slots.move("Enter", 5, 10, 4)).toBeUndefined()
  })
})
