import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import type { PutPolicy } from "../../src/Schemas/Policy.ts"
import { Agents } from "../../src/Services/Agents.ts"
import { Policies } from "../../src/Services/Policies.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { start as startExecutor } from "../support/Engine.ts"
import { layerAtRest } from "../support/Service.ts"
import { pause } from "../support/Until.ts"
import { makeSubject, start } from "./Schedulers.ts"

const prompt = 'call remember {"key":"k","value":"v"}'
const secondly = { schedule: "* * * * * *", prompt }
const allow = { match: "remember", rule: "allow" as const }
const slots = 5

/** What became of the first slots of a job that fires every second and whose runs remember something. */
const fired = Effect.fnUntraced(function* (policy: PutPolicy | null, ofAgent: PutPolicy | null = null) {
  const { ledger, make, runsOf, user, workspaceId } = yield* makeSubject
  const policies = yield* Policies
  yield* start
  yield* startExecutor
  const agent = yield* (yield* Agents).create(user, { workspaceId, name: "a" })
  if (ofAgent !== null) yield* policies.setOfAgent(user, agent.id, ofAgent)
  const job = yield* make({ ...secondly, agentId: agent.id })
  if (policy !== null) yield* policies.setOfJob(user, job.id, policy)
  for (let slot = 0; slot < slots; slot++) {
    yield* TestClock.adjust(slot === 0 ? 900 : 1_000)
    // Arguments are looked at and answers are told beside the clock.
    for (let turn = 0; turn < 1_000; turn++) {
      const statuses = (yield* runsOf(job)).map(({ status }) => status)
      if (!statuses.includes("PENDING") && !statuses.includes("RUNNING")) break
      yield* TestClock.adjust(0)
      yield* pause
    }
  }
  const outcomes = (yield* ledger(job)).map((line) => line.split(" ")[1])
  return { job, outcomes, runs: yield* runsOf(job), user }
})

const everySlot = Array.from({ length: slots }, () => "fired")

describe("A job that fires every second and remembers something", () => {
  it.effect.each<[string, PutPolicy | null, PutPolicy | null]>([
    ["without a policy", null, null],
    ["where it may", { tools: [allow] }, null],
    ["where it may, and is supervised else", { autonomyLevel: "supervised", tools: [allow] }, null],
    ["where its agent may, and it is supervised", { autonomyLevel: "supervised" }, { tools: [allow] }],
    ["where it may, and its agent would ask", { tools: [allow] }, { tools: [{ match: "*", rule: "ask" }] }],
    [
      "where it is semi-autonomous, and its agent not",
      { autonomyLevel: "semi-autonomous" },
      { autonomyLevel: "supervised" }
    ]
  ])("fires every slot %s", ([, policy, ofAgent]) =>
    Effect.gen(function* () {
      const { outcomes, runs } = yield* fired(policy, ofAgent)
      assert.deepStrictEqual(outcomes, everySlot)
      assert.deepStrictEqual(
        runs.map(({ status }) => status),
        everySlot.map(() => "COMPLETED")
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect.each<[string, PutPolicy | null, PutPolicy | null]>([
    ["where it is supervised", { autonomyLevel: "supervised" }, null],
    ["where its agent is supervised", null, { autonomyLevel: "supervised" }],
    [
      "where it is to ask",
      { autonomyLevel: "autonomous", tools: [{ match: "rem*", rule: "ask" }] },
      { tools: [allow] }
    ]
  ])("waits for people %s", ([, policy, ofAgent]) =>
    Effect.gen(function* () {
      const { outcomes, runs } = yield* fired(policy, ofAgent)
      assert.deepStrictEqual(outcomes, [...everySlot.slice(1).map(() => "overlap"), "fired"])
      assert.deepStrictEqual(
        runs.map(({ status }) => status),
        ["WAITING_APPROVAL"]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("has what it may when somebody makes it run now, too", () =>
    Effect.gen(function* () {
      const { job, user } = yield* fired({ autonomyLevel: "supervised" }, { tools: [allow] })
      const runs = yield* Runs
      const { id } = yield* runs.createOfJob(user, job.id)
      assert.strictEqual((yield* runs.get(user, id)).autonomyLevel, "supervised")
      let status = "PENDING"
      while (status === "PENDING" || status === "RUNNING") {
        yield* TestClock.adjust(1)
        yield* pause
        status = (yield* runs.get(user, id)).status
      }
      assert.strictEqual(status, "COMPLETED")
    }).pipe(Effect.provide(layerAtRest()))
  )
})
