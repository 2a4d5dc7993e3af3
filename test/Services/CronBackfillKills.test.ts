import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import * as Fires from "../../src/Layers/Scheduler/Fires.ts"
import { CronBackfillRepo } from "../../src/Services/CronBackfillRepo.ts"
import { Scheduler } from "../../src/Services/Scheduler.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeSubject } from "./Schedulers.ts"

const hour = 3_600_000

/** When a node dies that looks at what waits: not at all, or before or after it has written, but before the commit. */
type Kill = "never" | "claimed" | "recorded"

/** A node whose look at what waits can be broken off. */
const makeNode = Effect.gen(function* () {
  const repo = yield* CronBackfillRepo
  let kill: Kill = "never"
  const dying = (at: Kill) =>
    Effect.suspend(() => (kill === at ? Effect.die(new Error("the node is killed")) : Effect.void))
  const mortal = CronBackfillRepo.of({
    ...repo,
    claim: (limit, most) => Effect.tap(repo.claim(limit, most), dying("claimed")),
    record: (at, looked) => Effect.tap(repo.record(at, looked), dying("recorded"))
  })
  const context = yield* Layer.build(Layer.fresh(Fires.layer)).pipe(
    Effect.provideService(CronBackfillRepo, mortal)
  )
  const scheduler = yield* Effect.provideContext(Scheduler, context)
  return {
    fire: scheduler.fireDue,
    look: (when: Kill) =>
      Effect.suspend(() => {
        kill = when
        return Effect.exit(scheduler.backfillDue)
      })
  }
})

/** What happens, with which of the nodes and hours. */
const Step = Schema.Struct({
  what: Schema.Literals(["ask", "look", "look", "killed", "end", "end", "slot"] as const),
  node: Schema.Literals([0, 1]),
  late: Schema.Boolean,
  only: Schema.Literals(["missed", "all"]),
  from: Schema.Literals([9, 8, 7, 5, 3]),
  hours: Schema.Literals([1, 2, 4])
})
type Step = typeof Step.Type

const makeWorld = Effect.gen(function* () {
  const { endRuns, fires, jobs, make, runsOf, user } = yield* makeSubject
  const job = yield* make({ schedule: "@hourly" })
  const nodes = [yield* makeNode, yield* makeNode]
  const asked = new Set<number>()
  const ledger = fires.list({ cronJobId: job.id, limit: 1_000, offset: 0 })
  const outcomesOf = Effect.map(
    ledger,
    (entries) => new Map(entries.map((fire) => [fire.scheduledAt.getTime(), fire.outcome]))
  )
  const waiting = jobs.backfillState(user, job.id)

  const check = Effect.gen(function* () {
    const runs = yield* runsOf(job)
    const withRun = (yield* ledger).flatMap(({ runId }) => (runId === null ? [] : [runId]))
    assert.sameMembers<string>(
      withRun,
      runs.map(({ id }) => id)
    )
    assert.isAtMost(runs.filter(({ status }) => status === "PENDING").length, 1)
  })

  /** Whatever it makes is of the slot that was the oldest. */
  const look = Effect.fnUntraced(function* (node: number, kill: Kill) {
    const before = yield* waiting
    const outcomes = yield* outcomesOf
    const [oldest] = Array.from(asked)
      .filter((at) => !["fired", "backfilled"].includes(outcomes.get(at) ?? ""))
      .sort((one, other) => one - other)
    const runs = (yield* runsOf(job)).length
    const exit = yield* nodes[node]?.look(kill) ?? Effect.die(new Error("no node"))
    const made = (yield* runsOf(job)).length - runs
    assert.isTrue(Exit.isSuccess(exit) || made === 0)
    assert.isAtMost(made, 1)
    if (made === 0) return
    const entry = (yield* ledger).find(({ scheduledAt }) => scheduledAt.getTime() === oldest)
    assert.strictEqual(entry?.outcome, "backfilled")
    assert.strictEqual((yield* waiting).waiting, before.waiting - 1)
  })

  const ask = Effect.fnUntraced(function* ({ from, hours, only }: Step) {
    const current = Math.floor((yield* Clock.currentTimeMillis) / hour) * hour
    const range = {
      from: new Date(current - from * hour),
      to: new Date(current - Math.max(0, from - hours) * hour)
    }
    const outcomes = yield* outcomesOf
    for (let at = range.from.getTime(); at < range.to.getTime(); at += hour) {
      if (only === "all" || outcomes.get(at) === "missed") asked.add(at)
    }
    yield* jobs.backfill(user, job.id, { ...range, only })
  })

  const perform = (step: Step) => {
    switch (step.what) {
      case "ask":
        return ask(step)
      case "look":
        return look(step.node, "never")
      case "killed":
        return look(step.node, step.late ? "recorded" : "claimed")
      case "end":
        return endRuns(job)
      case "slot":
        // One that is not handled is missed.
        return Effect.andThen(
          TestClock.adjust(step.hours * hour),
          nodes[step.node]?.fire ?? Effect.die(new Error("no node"))
        )
    }
  }

  const finish = Effect.gen(function* () {
    while ((yield* waiting).waiting > 0) {
      yield* endRuns(job)
      yield* look(0, "never")
      yield* check
      // The schedule comes first.
      yield* nodes[1]?.fire ?? Effect.void
      yield* TestClock.adjust(10_000)
    }
    const outcomes = yield* outcomesOf
    for (const at of asked) assert.include(["fired", "backfilled"], outcomes.get(at))
  })
  return { check, finish, perform }
})

describe("slots that are made up by nodes that are killed", () => {
  it.effect.prop(
    "get one run each, the oldest first, never two at once, and all in the end",
    [Schema.Array(Step).check(Schema.isMinLength(10), Schema.isMaxLength(60))],
    ([steps]) =>
      Effect.gen(function* () {
        const { check, finish, perform } = yield* makeWorld
        for (const step of steps) {
          yield* perform(step)
          yield* check
        }
        yield* finish
      }).pipe(Effect.scoped, Effect.provide(layerAtRest(), { local: true })),
    { arbitrary: { runs: 60, seed: "agentd", size: 60 } }
  )
})
