import { expect, it } from "@effect/vitest"
import { joined } from "../../console/src/Joined.ts"

it("a row that was pushed off the first page is there once", () => {
  const rows = (...ids: ReadonlyArray<string>) => ids.map((id) => ({ id }))
  expect(joined(rows("d", "c"), rows("c", "b", "a"))).toEqual(rows("d", "c", "b", "a"))
})
