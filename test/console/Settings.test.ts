import { describe, expect, it } from "@effect/vitest"
import { entered, toBudget } from "../../console/src/views/Settings/Limits.ts"
import { addressOf } from "../../console/src/views/Settings/Target.ts"

describe("a budget that was entered", () => {
  it("comes back as it is: nothing is no limit, and 0 is nothing at all", () => {
    const budget = { monthlyUsd: 12.5, monthlyTokens: null, runUsd: 0, runTokens: 4_000 }
    expect(entered(budget)).toEqual({ monthlyUsd: "12.5", monthlyTokens: "", runUsd: "0", runTokens: "4000" })
    expect(toBudget(entered(budget))).toEqual(budget)
  })

  it("is never without a limit because of what is no number", () => {
    const texts = { monthlyUsd: "1e", monthlyTokens: " ", runUsd: "", runTokens: "" }
    expect(toBudget(texts)).toBe("monthlyUsd: must be a number")
  })
})

describe("the address of what an entry is about", () => {
  it("is that of its view, where there is one", () => {
    expect(addressOf("run_1")).toBe("#/runs/run_1")
    expect(addressOf("conn_1")).toBe("#/connectors/conn_1")
    expect(addressOf("mem_1")).toBeUndefined()
    expect(addressOf("none")).toBeUndefined()
  })
})
