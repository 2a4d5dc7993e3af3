import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { createOf, draftOf, emptyDraft, updateOf } from "../../console/src/views/Schedules/Draft.ts"
import { words } from "../../console/src/views/Schedules/Words.ts"
import * as Zones from "../../console/src/views/Schedules/Zones.ts"
import { AgentId, CronJobId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { nextInstants } from "../../src/Schemas/Schedule.ts"

describe("what an expression means", () => {
  it.each([
    ["* * * * *", "every minute"],
    ["*/5 * * * *", "every 5 minutes"],
    ["*/10 * * * * *", "every 10 seconds"],
    ["* * * * * *", "every second"],
    ["0 * * * *", "every hour, on the hour"],
    ["15 * * * *", "every hour, 15 minutes past"],
    ["0 */6 * * *", "every 6 hours, on the hour"],
    ["0 9 * * *", "every day at 09:00"],
    ["30 8,17 * * *", "every day at 08:30 and 17:30"],
    ["0 9 * * 1-5", "Monday to Friday at 09:00"],
    ["0 9 * * MON-FRI", "Monday to Friday at 09:00"],
    ["0 9 * * 7", "every Sunday at 09:00"],
    ["0 9 * * 1,3,5", "every Monday, Wednesday and Friday at 09:00"],
    ["*/15 * * * sat,sun", "every 15 minutes, every Saturday and Sunday"],
    ["5 0 9 * * *", "every day at 09:00:05"],
    ["0 6 1 * *", "on day 1 of every month at 06:00"],
    ["0 6 31 * *", "on day 31 of every month that has one at 06:00"],
    ["0 0 L * *", "on the last day of every month at 00:00"],
    ["@hourly", "every hour, on the hour"],
    ["@DAILY", "every day at 00:00"],
    ["@weekly", "every Sunday at 00:00"],
    ["@monthly", "on day 1 of every month at 00:00"],
    ["@yearly", "every year on 1 January at 00:00"]
  ])("is said of %s", (expression, said) => {
    expect(words(expression)).toBe(said)
    // Nothing is said of what the service would not take.
    expect(Result.isSuccess(nextInstants(expression, "UTC", new Date(), 1))).toBe(true)
  })

  it.each([
    "",
    "nonsense",
    "* * *",
    "*/7 * * * *",
    "0 9 1 * 1",
    "0 9 * 6 *",
    "0 9 * * 5#2",
    "0 9 15W * *",
    "0 9-17 * * *",
    "0 9 * * 5-1",
    "0 9 * * 1,1",
    "0 9 * * 1,",
    "60 * * * *",
    "0 24 * * *",
    "0 9 32 * *",
    "0 9 * * 8",
    "*/5 9 * * *",
    "*/0 * * * *",
    "* 9 * * * *",
    "1e0 * * * *",
    "@reboot"
  ])("is not said of %s, which is no simple one", (expression) => {
    expect(words(expression)).toBeUndefined()
  })
})

describe("the clock of a zone", () => {
  const at = new Date("2026-07-01T07:00:00Z")

  it("shows the instant there, with what it is ahead of UTC", () => {
    expect(Zones.clockText(at, "Europe/Berlin")).toBe("Wed 2026-07-01 09:00 UTC+2")
    expect(Zones.clockText(at, "America/New_York")).toBe("Wed 2026-07-01 03:00 UTC-4")
    expect(Zones.clockText(at, "Asia/Kolkata")).toBe("Wed 2026-07-01 12:30 UTC+5:30")
    expect(Zones.clockText(at, "UTC")).toBe("Wed 2026-07-01 07:00 UTC")
    expect(Zones.clockText(new Date("2026-12-01T07:00:09Z"), "Europe/Berlin")).toBe(
      "Tue 2026-12-01 08:00:09 UTC+1"
    )
    expect(Zones.clockText(new Date("2026-12-01T00:00:00Z"), "UTC")).toBe("Tue 2026-12-01 00:00 UTC")
  })

  it("names the day on one's own clock only where it is another", () => {
    expect(Zones.dayAndTime(at, "Europe/Berlin")).toBe("Wed 2026-07-01 09:00")
    expect(Zones.hereText(at, "Europe/Berlin", "UTC")).toBe("07:00 UTC")
    expect(Zones.hereText(at, "Asia/Tokyo", "America/Los_Angeles")).toBe("00:00 UTC-7")
    expect(Zones.hereText(new Date("2026-07-01T05:00:00Z"), "Asia/Tokyo", "America/Los_Angeles")).toBe(
      "Tue 2026-06-30 22:00 UTC-7"
    )
  })

  it("shows UTC where the zone is not known here", () => {
    expect(Zones.isKnownZone("Atlantis/Capital")).toBe(false)
    expect(Zones.clockText(at, "Atlantis/Capital")).toBe("Wed 2026-07-01 07:00 UTC")
  })

  it("is offered for every zone, UTC first, each once", () => {
    const zones = Zones.zones()
    expect(zones[0]).toBe("UTC")
    expect(zones).toContain("Europe/Berlin")
    expect(new Set(zones).size).toBe(zones.length)
  })

  it("goes to a field of a form and back", () => {
    const second = new Date(2026, 2, 4, 5, 6, 7)
    expect(Zones.toField(second)).toBe("2026-03-04T05:06:07")
    expect(Zones.fromField(Zones.toField(second))).toStrictEqual(second)
    expect(Zones.fromField("")).toBeUndefined()
  })
})

describe("what is sent of a job", () => {
  const job = {
    id: CronJobId.make("cron_1"),
    workspaceId: WorkspaceId.make("ws_1"),
    projectId: null,
    name: "Report",
    description: null,
    schedule: "0 9 * * *",
    prompt: "Write it.",
    timezone: "UTC",
    isActive: true,
    agentId: AgentId.make("agent_1"),
    agent: null,
    createdAt: new Date(0),
    updatedAt: new Date(0)
  }

  it("is all of a new one", () => {
    const draft = { ...emptyDraft, name: "Report", prompt: "Write it.", schedule: " 0 9 * * * " }
    expect(createOf(draft, WorkspaceId.make("ws_1"))).toStrictEqual({
      workspaceId: "ws_1",
      name: "Report",
      description: null,
      prompt: "Write it.",
      agentId: null,
      schedule: "0 9 * * *",
      timezone: "UTC"
    })
  })

  it("is what has changed of one that there is, so that its next slot stays where it is", () => {
    const before = draftOf(job)
    expect(updateOf(before, before)).toStrictEqual({})
    expect(updateOf({ ...before, name: "Other", agentId: "" }, before)).toStrictEqual({
      name: "Other",
      agentId: null
    })
    expect(updateOf({ ...before, schedule: "@daily", description: "Why" }, before)).toStrictEqual({
      description: "Why",
      schedule: "@daily"
    })
  })
})
