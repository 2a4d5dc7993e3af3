import { describe, expect, it } from "@effect/vitest"
import { summary } from "../../console/src/views/Webhooks/Events.ts"

describe("what a webhook is told of", () => {
  it("is said in a line", () => {
    expect(summary(["*"])).toBe("All events")
    expect(summary(["run.failed", "cron.missed"])).toBe("run.failed, cron.missed")
    expect(summary(["a", "b", "c", "d"])).toBe("a, b and 2 more")
  })
})
