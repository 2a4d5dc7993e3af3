import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import { runAtProblem } from "../../src/Schemas/RunAt.ts"
import { Moment } from "../../src/Schemas/Timestamp.ts"

const now = new Date("2027-03-01T00:00:00.000Z")
const task = (runAt: Date | null) => ({ workspaceId: "ws_1" as WorkspaceId, prompt: "p", runAt })

describe("when a task is to begin", () => {
  it.each([
    ["2028-02-29T23:59:59+01:00", "2028-02-29T22:59:59.000Z"],
    ["2026-11-20T08:00:00Z", "2026-11-20T08:00:00.000Z"],
    ["2026-11-20T08:00:00.123456-00:30", "2026-11-20T08:30:00.123Z"],
    ["2026-12-31T23:30:00-01:00", "2027-01-01T00:30:00.000Z"]
  ])("is %s", (text, iso) => {
    assert.strictEqual(Schema.decodeUnknownSync(Moment)(text).toISOString(), iso)
  })

  it.each([
    "2026-11-20",
    "2026-11-20T08:00:00",
    "2026-11-20T08:00Z",
    "2026-02-29T08:00:00Z",
    "2026-11-31T08:00:00+01:00",
    "2026-13-01T08:00:00Z",
    "2026-11-20T25:00:00Z",
    "2026-11-20T08:00:00+25:00",
    "+12026-11-20T08:00:00Z",
    " 2026-11-20T08:00:00Z",
    "soon",
    "",
    1_763_625_600_000
  ])("is not %s", (given) => {
    assert.throws(() => Schema.decodeUnknownSync(Moment)(given))
  })

  it("is a year ahead at most", () => {
    assert.isUndefined(runAtProblem(task(null), now))
    assert.isUndefined(runAtProblem(task(new Date(0)), now))
    assert.isUndefined(runAtProblem(task(new Date("2028-03-01T00:00:00.000Z")), now))
    assert.include(runAtProblem(task(new Date("2028-03-01T00:00:00.001Z")), now), "runAt: ")
  })
})
