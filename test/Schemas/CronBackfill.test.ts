import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  BackfillCronJob,
  backfillRange,
  type DueBackfill,
  planBackfill
} from "../../src/Schemas/CronBackfill.ts"
import type { AgentId, CronJobId, WorkspaceId } from "../../src/Schemas/Ids.ts"

const now = new Date("2026-11-20T08:00:00.000Z")
const given = { now, keepMillis: 90 * 86_400_000 }
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000)

describe("the range of a backfill", () => {
  it.each([
    ["ends where it begins", ago(1), ago(1), "from: must be before to"],
    ["ends before it begins", ago(1), ago(2), "from: must be before to"],
    [
      "reaches into the future",
      ago(1),
      ago(-1),
      "to: must not be in the future: those slots belong to the schedule"
    ],
    [
      "begins before what the ledger keeps",
      ago(90 * 24 + 1),
      ago(1),
      "from: must be within the last 90 days, as long as the ledger keeps slots"
    ]
  ])("is none where it %s", (_, from, to, problem) => {
    assert.deepStrictEqual(backfillRange({ from, to }, given), Result.fail(problem))
  })

  it("ends now at the latest, also where the clock of the caller is a little ahead", () => {
    const range = (to: Date) => backfillRange({ from: ago(5), to }, given)
    assert.deepStrictEqual(range(ago(1)), Result.succeed({ from: ago(5), to: ago(1) }))
    assert.deepStrictEqual(range(ago(-1 / 120)), Result.succeed({ from: ago(5), to: now }))
  })

  it("is said in time stamps that have an offset, and are days of the calendar", () => {
    const decode = Schema.decodeUnknownResult(BackfillCronJob)
    const isTaken = (from: string) => Result.isSuccess(decode({ from, to: "2026-11-20T09:00:00Z" }))
    for (const good of ["2026-11-20T08:00:00Z", "2026-11-20T09:30:00.5+01:30", "2024-02-29T00:00:00-08:00"]) {
      assert.isTrue(isTaken(good), good)
    }
    for (const bad of [
      "2026-11-20",
      "2026-11-20T08:00:00",
      "2026-11-20T08:00Z",
      "2026-02-30T08:00:00Z",
      "2026-13-01T00:00:00Z",
      "now",
      ""
    ]) {
      assert.isFalse(isTaken(bad), bad)
    }
  })
})

const job: DueBackfill = {
  id: "cron_1" as CronJobId,
  workspaceId: "ws_1" as WorkspaceId,
  projectId: null,
  agentId: "agent_1" as AgentId,
  prompt: "p",
  schedule: "@hourly",
  timezone: "UTC",
  slot: ago(3),
  isBusy: false,
  isSpent: false,
  agentIsActive: true,
  policy: null,
  agentPolicy: null,
  room: 2
}

describe("a slot that waits to be made up", () => {
  it.each<[string, Partial<DueBackfill>, number, boolean]>([
    ["gets its run", {}, 0, true],
    ["gets its run, the last for which there is room", {}, 1, true],
    ["gets its run where any number may wait", { room: null }, 9_999, true],
    ["gets its run where the job has no agent", { agentId: null, agentIsActive: false }, 0, true],
    ["waits while a run of the job is active", { isBusy: true }, 0, false],
    ["waits while the agent is switched off", { agentIsActive: false }, 0, false],
    ["waits while the budget of the month is used up", { isSpent: true }, 0, false],
    ["waits while too many runs wait", {}, 2, false],
    ["waits while more runs wait than may", { room: -3 }, 0, false]
  ])("%s", (_, other, made, isMade) => {
    const plan = planBackfill({ ...job, ...other }, made)
    assert.strictEqual(plan.isMade, isMade)
    assert.isAtLeast(plan.againMillis, 1_000)
    assert.isAtMost(plan.againMillis, 60_000)
  })
})
