import { assert, describe, it } from "vitest"
import { checkpointUrgency, type TableState, tableUrgency } from "../../src/Schemas/DatabaseUpkeep.ts"

const mebibyte = 1024 * 1024
const minute = 60_000

describe("A checkpoint", () => {
  it.each([
    [0, 60 * minute, "none"],
    [1, 5 * minute - 1, "none"],
    [1, 5 * minute, "wanted"],
    [32 * mebibyte - 1, 0, "none"],
    [32 * mebibyte, 0, "wanted"],
    [64 * mebibyte - 1, 5 * minute, "wanted"],
    [64 * mebibyte, 0, "overdue"]
  ] as const)("after %i bytes of WAL, %i ms ago, is: %s", (written, idleMillis, urgency) => {
    assert.strictEqual(checkpointUrgency({ written, idleMillis }), urgency)
  })
})

const clean: TableState = {
  name: "public.runs",
  toast: false,
  live: 10_000,
  dead: 0,
  modified: 0,
  bytes: 100 * mebibyte,
  known: true,
  age: 1000
}

describe("A table", () => {
  it.each<[string, Partial<TableState>, boolean, boolean, string]>([
    ["has nothing to be done", {}, false, false, "none"],
    ["is left alone below a tenth", { dead: 1199, modified: 1499 }, false, false, "none"],
    ["is vacuumed for its dead rows", { dead: 1200 }, true, false, "wanted"],
    ["is vacuumed at once at twice as many", { dead: 2400 }, true, false, "overdue"],
    ["is small and always written", { live: 20, dead: 202 }, true, false, "wanted"],
    ["is analyzed for what changed", { modified: 1500 }, false, true, "wanted"],
    ["is both", { dead: 1300, modified: 3000 }, true, true, "overdue"],
    ["has no statistics as a place for long values", { toast: true, modified: 9999 }, false, false, "none"],
    ["is vacuumed once where nothing is known", { known: false }, true, false, "wanted"],
    ["is small and not known", { known: false, bytes: mebibyte - 1 }, false, false, "none"],
    ["is frozen in time", { age: 150_000_000 }, true, false, "wanted"],
    ["is frozen at once", { age: 300_000_000 }, true, false, "overdue"]
  ])("%s", (_, state, vacuum, analyze, urgency) => {
    assert.deepStrictEqual(tableUrgency({ ...clean, ...state }), {
      name: "public.runs",
      vacuum,
      analyze,
      urgency
    })
  })
})
