import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  type Backlog,
  type DueJob,
  keptBacklog,
  planBacklog,
  planFire,
  runOfJob,
  toCronFire
} from "../../src/Schemas/CronFire.ts"
import type { AgentId, CronJobId, RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"

const date = (iso: string) => new Date(iso)
const jobOf = (given: Partial<DueJob>): DueJob => ({
  id: "cron_1" as CronJobId,
  workspaceId: "ws_1" as WorkspaceId,
  projectId: null,
  agentId: null,
  prompt: "Do it",
  schedule: "0 9 * * *",
  timezone: "Europe/Berlin",
  slot: date("2026-11-20T08:00:00.000Z"),
  isBusy: false,
  agentIsActive: true,
  isSpent: false,
  policy: null,
  agentPolicy: null,
  ...given
})

describe("planFire", () => {
  it.each([0, 1, 999, 60_000, 23 * 3_600_000, 86_399_999])(
    "counts from the slot, %d ms after it as well as at it",
    (late) => {
      const job = jobOf({})
      assert.deepStrictEqual(planFire(job, new Date(job.slot.getTime() + late)), {
        job,
        slot: job.slot,
        outcome: "fired",
        backlog: null,
        nextFireAt: date("2026-11-21T08:00:00.000Z")
      })
    }
  )

  it("handles the newest slot, and those before it were missed", () => {
    const job = jobOf({})
    assert.deepStrictEqual(planFire(job, date("2026-11-24T08:00:00.000Z")), {
      job,
      slot: date("2026-11-24T08:00:00.000Z"),
      outcome: "fired",
      backlog: {
        cronJobId: job.id,
        schedule: job.schedule,
        timezone: job.timezone,
        from: job.slot,
        until: date("2026-11-24T08:00:00.000Z")
      },
      nextFireAt: date("2026-11-25T08:00:00.000Z")
    })
  })

  const agentId = "agent_1" as AgentId
  it.each<[DueJob, string]>([
    [jobOf({ isBusy: true }), "overlap"],
    [jobOf({ agentId, isBusy: true }), "overlap"],
    [jobOf({ agentId, agentIsActive: false }), "agent_inactive"],
    [jobOf({ agentId, agentIsActive: false, isBusy: true }), "agent_inactive"],
    [jobOf({ agentId: null, agentIsActive: false }), "fired"]
  ])("decides what becomes of the slot: %#", (job, outcome) => {
    const plan = planFire(job, job.slot)
    assert.strictEqual(plan.outcome, outcome)
    assert.deepStrictEqual(plan.nextFireAt, date("2026-11-21T08:00:00.000Z"))
  })

  it.each([{ schedule: "0 0 30 2 *" }, { timezone: "Mars/Base" }, { schedule: "nonsense" }])(
    "ends a job that has no further instant: %j",
    (given) => {
      const job = jobOf(given)
      const plan = planFire(job, date("2026-12-20T08:00:00.000Z"))
      assert.deepStrictEqual([plan.slot, plan.outcome, plan.nextFireAt], [job.slot, "fired", null])
    }
  )

  it("takes no longer for a year of seconds than for a minute of them", () => {
    const job = jobOf({ schedule: "* * * * * *", slot: date("2025-11-20T08:00:00.000Z") })
    const costs = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage()
      const plan = planFire(job, date("2026-11-20T08:00:00.500Z"))
      const { user } = process.cpuUsage(before)
      assert.deepStrictEqual(plan.slot, date("2026-11-20T08:00:00.000Z"))
      return user / 1000
    })
    assert.isBelow(Math.min(...costs), 50, "milliseconds of computing")
  })

  const base = Date.parse("2027-03-27T12:00:00.000Z")
  it.prop(
    "finds the same as walking from slot to slot",
    {
      schedule: Schema.Literals([
        "*/20 * * * *",
        "30 2 * * *",
        "*/30 1-3 * * *",
        "7 * * * *",
        "0 */5 2 * * *"
      ]),
      timezone: Schema.Literals(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll"]),
      since: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400 })),
      late: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 * 86_400_000 }))
    },
    ({ late, schedule, since, timezone }) => {
      const slot = planFire(jobOf({ schedule, timezone, slot: new Date(base + since * 1000) }), new Date(0))
      const job = jobOf({ schedule, timezone, slot: slot.nextFireAt ?? assert.fail() })
      const now = new Date(job.slot.getTime() + late)
      const walked: Array<Date> = [job.slot]
      for (let at = job.slot; ; ) {
        const { nextFireAt } = planFire({ ...job, slot: at }, at)
        if (nextFireAt === null || nextFireAt > now) break
        walked.push(nextFireAt)
        at = nextFireAt
      }
      const plan = planFire(job, now)
      assert.deepStrictEqual(plan.slot, walked.at(-1))
      assert.deepStrictEqual(
        plan.backlog === null ? [] : planBacklog(plan.backlog, 10_000),
        walked.length === 1 ? [] : { slots: walked.slice(0, -1), rest: null }
      )
      assert.isAbove(plan.nextFireAt?.getTime() ?? 0, now.getTime())
    },
    { arbitrary: { runs: 100 } }
  )
})

describe("planBacklog", () => {
  const backlog = {
    cronJobId: "cron_1" as CronJobId,
    schedule: "*/10 * * * * *",
    timezone: "UTC",
    from: date("2026-11-20T08:00:00.000Z"),
    until: date("2026-11-20T08:00:50.000Z")
  }
  it("takes so many at once, and says where to go on", () => {
    const first = planBacklog(backlog, 3)
    assert.deepStrictEqual(
      first.slots.map((at) => at.getUTCSeconds()),
      [0, 10, 20]
    )
    assert.deepStrictEqual(first.rest, { ...backlog, from: date("2026-11-20T08:00:30.000Z") })
    assert.deepStrictEqual(planBacklog(first.rest ?? backlog, 2), {
      slots: [date("2026-11-20T08:00:30.000Z"), date("2026-11-20T08:00:40.000Z")],
      rest: null
    })
  })
  it("begins with the first slot from then on, where that is none itself", () => {
    const { slots } = planBacklog({ ...backlog, from: date("2026-11-20T08:00:31.000Z") }, 9)
    assert.deepStrictEqual(slots, [date("2026-11-20T08:00:40.000Z")])
  })
  it("is over where nothing is left", () => {
    assert.deepStrictEqual(planBacklog({ ...backlog, from: backlog.until }, 9), { slots: [], rest: null })
  })
})

describe("keptBacklog", () => {
  const backlog: Backlog = {
    cronJobId: "cron_1" as CronJobId,
    schedule: "* * * * * *",
    timezone: "UTC",
    from: date("2026-11-20T08:00:00.000Z"),
    until: date("2026-11-21T08:00:00.000Z")
  }

  it.each([
    ["all of it where nothing is too old", "2026-11-20T09:00:00.000Z", "2026-11-20T08:00:00.000Z"],
    ["what is as old as may be", "2026-11-20T10:00:00.000Z", "2026-11-20T09:00:00.000Z"],
    ["the second in which it is too old", "2026-11-20T10:00:00.999Z", "2026-11-20T09:00:00.000Z"]
  ])("is %s", (_, at, from) => {
    assert.deepStrictEqual(keptBacklog(backlog, date(at), 3_600_000), { ...backlog, from: date(from) })
  })
})

describe("what a slot leaves", () => {
  it("is a run like that of a task that chooses nothing", () => {
    const at = date("2026-11-20T08:00:00.004Z")
    const job = jobOf({ agentId: "agent_1" as AgentId })
    const id = "run_1" as RunId
    assert.deepInclude(runOfJob(job, id, at), {
      id,
      cronJobId: job.id,
      agentId: job.agentId,
      status: "PENDING",
      autonomyLevel: "semi-autonomous",
      connectorIds: null,
      policy: null,
      attempts: 0,
      createdAt: at,
      updatedAt: at
    })
  })
  it("shows how late it was handled", () => {
    const scheduledAt = date("2026-11-20T08:00:00.000Z")
    const fire = {
      scheduledAt,
      firedAt: date("2026-11-20T08:00:01.250Z"),
      outcome: "missed",
      runId: null
    } as const
    assert.deepStrictEqual(toCronFire(fire), { ...fire, lagMs: 1_250 })
  })
})
