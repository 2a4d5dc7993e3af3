import { describe, expect, it } from "@effect/vitest"
import { goneOf, neighbourOf, selectedOf } from "../../console/src/views/Approvals/Inbox.ts"

const waiting = ["a", "b", "c"].map((id) => ({ id }))

describe("the inbox of approvals", () => {
  it("has the oldest selected until another one is", () => {
    expect(selectedOf(waiting, undefined)).toBe("a")
    expect(selectedOf(waiting, "b")).toBe("b")
    expect(selectedOf([], undefined)).toBeUndefined()
  })

  it("selects no other one when the selected one goes by itself", () => {
    expect(selectedOf(waiting, "gone")).toBeUndefined()
  })

  it("goes on with the next, and from the last with the one before", () => {
    expect(["a", "b", "c"].map((id) => neighbourOf(waiting, id))).toEqual(["b", "c", "b"])
    expect(neighbourOf([{ id: "a" }], "a")).toBeUndefined()
  })

  it("knows which are gone, but not of new ones", () => {
    expect(goneOf(waiting, [{ id: "c" }, { id: "d" }])).toEqual([{ id: "a" }, { id: "b" }])
    expect(goneOf(waiting, [...waiting, { id: "d" }])).toEqual([])
  })
})
