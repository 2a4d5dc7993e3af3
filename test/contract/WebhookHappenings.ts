import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Budget, budgetUsageOf, noBudget, nothingSpent } from "../../src/Schemas/Budget.ts"
import { Connector, type ConnectorStatus, toConnector } from "../../src/Schemas/Connector.ts"
import {
  ConnectorHealth,
  type StoredHealth,
  toHealth,
  unknownServer
} from "../../src/Schemas/ConnectorHealth.ts"
import { CronJob, toCronJob } from "../../src/Schemas/CronJob.ts"
import type { WebhookId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { BudgetRepo } from "../../src/Services/BudgetRepo.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeWorkspace, newId, newRun, unicode } from "../support/Fixtures.ts"
import { makeWebhook, messagesOf } from "../support/Told.ts"
import { makeConnector } from "./ConnectorRepo.ts"
import { slot } from "./CronFireSubject.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { minute } from "./RunSubject.ts"

const encoderOf = <A>(schema: Schema.Codec<A, unknown>) =>
  Schema.encodeSync(Schema.toCodecJson(schema)) as (value: A) => Schema.JsonObject
const shownJob = encoderOf(CronJob)
const shownConnector = encoderOf(Connector)
const shownHealth = encoderOf(ConnectorHealth)

const ofSlots = (it: It) => {
  it.effect("tells of the slots that a job missed, once for all that are entered together", () =>
    Effect.gen(function* () {
      const fires = yield* CronFireRepo
      const jobs = yield* CronJobRepo
      const workspaceId = yield* makeWorkspace
      const webhook = yield* makeWebhook(workspaceId, ["cron.missed"])
      const { id: agentId } = yield* makeAgent(workspaceId, { name: unicode })
      const job = yield* makeCronJob(workspaceId, { prompt: unicode, agentId })
      const other = yield* makeCronJob(workspaceId)
      const fire = (cronJobId: typeof job.id, n: number, outcome: "missed" | "overlap") => ({
        cronJobId,
        scheduledAt: slot(n),
        outcome,
        run: null
      })
      const slots = [
        fire(job.id, 0, "missed"),
        fire(job.id, 2, "missed"),
        fire(job.id, 3, "overlap"),
        fire(other.id, 1, "overlap")
      ]
      const record = fires.record({ firedAt: at(9), slots, backlogs: [], next: [] })
      yield* record
      yield* record
      const backlog = {
        cronJobId: job.id,
        schedule: "* * * * *",
        timezone: "UTC",
        from: slot(4),
        until: slot(9)
      }
      const entered = [slot(2), slot(6), slot(4)]
      yield* fires.recordMissed(backlog, { at: at(9), slots: entered, rest: null })
      yield* fires.recordMissed(backlog, { at: at(9), slots: entered, rest: null })
      const shown = shownJob(toCronJob(Option.getOrThrow(yield* jobs.find(job.id))))
      const missed = (count: number, first: number, last: number) => ({
        count,
        first: slot(first).toISOString(),
        last: slot(last).toISOString()
      })
      assert.deepStrictEqual(
        (yield* messagesOf(webhook)).map(({ data, type }) => [type, data]),
        [
          ["cron.missed", { ...shown, missed: missed(2, 0, 2) }],
          ["cron.missed", { ...shown, missed: missed(2, 4, 6) }]
        ]
      )
    })
  )
}

const ofConnectors = (it: It) => {
  const server = { serverName: unicode, serverVersion: "1", protocolVersion: "2025-06-18" }
  const well: StoredHealth = { checkedAt: at(1), error: null, ...server }
  const ill: StoredHealth = {
    checkedAt: at(2),
    error: { code: "timeout", message: unicode },
    ...unknownServer
  }

  const subject = Effect.gen(function* () {
    const connectors = yield* ConnectorRepo
    const workspaceId = yield* makeWorkspace
    const webhook = yield* makeWebhook(workspaceId)
    const { id } = yield* makeConnector(workspaceId, {
      providerName: unicode,
      grantedScopes: ["a", unicode],
      sealedCredential: "a secret",
      hasCredential: true
    })
    const find = Effect.map(connectors.find(id), Option.getOrThrow)
    /** As `ConnectorReports` writes it: the status first, where it is another. */
    const report = Effect.fnUntraced(function* (health: StoredHealth, status: ConnectorStatus) {
      const found = yield* find
      if (found.status !== status) yield* connectors.update({ ...found, status })
      yield* connectors.keepHealth(id, health)
    })
    const told = messagesOf(webhook)
    const types = Effect.map(told, (messages) => messages.map(({ type }) => type))
    return { connectors, find, id, report, told, types }
  })

  it.effect("tells once that a connector fails, and once that it works again", () =>
    Effect.gen(function* () {
      const { connectors, find, id, report, told, types } = yield* subject
      yield* report(well, "ACTIVE")
      yield* report(well, "ACTIVE")
      assert.deepStrictEqual(yield* types, [])
      for (let n = 0; n < 3; n++) yield* report({ ...ill, checkedAt: at(2 + n) }, "ERROR")
      const [message, ...others] = yield* told
      assert.deepStrictEqual([message?.type, others], ["connector.error", []])
      assert.deepStrictEqual(message?.data, {
        ...shownConnector(toConnector(yield* find)),
        health: shownHealth(toHealth({ status: "ERROR" }, { ...ill, ...server }))
      } as unknown)
      assert.notInclude(JSON.stringify(message), "a secret")
      yield* report(well, "ACTIVE")
      yield* report(well, "ACTIVE")
      assert.deepStrictEqual(yield* types, ["connector.error", "connector.recovered"])
      yield* report(ill, "ERROR")
      // What was shown is of another server, which fails as well, and then works.
      yield* connectors.forgetHealth(id)
      yield* report(ill, "ERROR")
      assert.strictEqual((yield* types).length, 3)
      yield* connectors.forgetHealth(id)
      yield* report(well, "ACTIVE")
      assert.deepStrictEqual((yield* types).slice(2), ["connector.error", "connector.recovered"])
    })
  )

  it.effect("tells nothing of one that is switched off, until it is used", () =>
    Effect.gen(function* () {
      const { connectors, find, report, types } = yield* subject
      yield* report(ill, "INACTIVE")
      yield* report(ill, "INACTIVE")
      assert.deepStrictEqual(yield* types, [])
      yield* connectors.update({ ...(yield* find), status: "ACTIVE" })
      yield* report(ill, "ERROR")
      assert.deepStrictEqual(yield* types, ["connector.error"])
    })
  )

  it.effect("tells that one works again which a person switched on meanwhile", () =>
    Effect.gen(function* () {
      const { connectors, find, report, types } = yield* subject
      yield* report(ill, "ERROR")
      yield* connectors.update({ ...(yield* find), status: "ACTIVE" })
      yield* report(well, "ACTIVE")
      assert.deepStrictEqual(yield* types, ["connector.error", "connector.recovered"])
    })
  )
}

const ofBudgets = (it: It) => {
  const answer = (tokens: number, costNanos: number): JournalStep => ({
    type: "model",
    text: "A",
    toolCalls: [],
    usage: { inputTokens: tokens, outputTokens: 0 },
    costNanos
  })

  const subject = Effect.gen(function* () {
    const repo = yield* BudgetRepo
    const journal = yield* RunJournal
    const runs = yield* RunRepo
    const workspaceId = yield* makeWorkspace
    const worker = yield* newId<string>("run")
    const begin = Effect.gen(function* () {
      const run = yield* newRun(workspaceId)
      assert.isTrue(yield* runs.insert(run, { worker, leaseMillis: minute, perWorkspace: 1_000 }))
      return { id: run.id, worker, epoch: 1 }
    })
    const booking = yield* begin
    let index = 0
    const book = Effect.fnUntraced(function* (tokens: number, costNanos = 0) {
      assert.isTrue(yield* journal.record(booking, index++, answer(tokens, costNanos)))
    })
    const put = (budget: Partial<Budget>) => repo.put(workspaceId, { ...noBudget, ...budget })
    const limits = (webhook: WebhookId) =>
      Effect.map(messagesOf(webhook), (messages) =>
        messages.map(({ data: { limit, value } }) => `${limit} ${value}`)
      )
    return { begin, book, limits, put, repo, workspaceId }
  })

  it.effect("tells that what is booked reaches a limit of the month, once for each of its values", () =>
    Effect.gen(function* () {
      const { book, limits, put, repo, workspaceId } = yield* subject
      const webhook = yield* makeWebhook(workspaceId, ["budget.reached"])
      yield* put({ monthlyTokens: 100, monthlyUsd: 0.5, runTokens: 1 })
      yield* book(99)
      assert.deepStrictEqual(yield* limits(webhook), [])
      yield* book(1)
      const { month, standing } = yield* repo.standing(workspaceId)
      const [message] = yield* messagesOf(webhook)
      assert.strictEqual(message?.type, "budget.reached")
      assert.deepStrictEqual(message?.data, {
        workspaceId,
        limit: "monthlyTokens",
        value: 100,
        ...budgetUsageOf(month, { ...noBudget, monthlyTokens: 100, monthlyUsd: 0.5 }, standing)
      } as unknown)
      yield* book(5)
      yield* book(5, 500_000_000)
      assert.deepStrictEqual(yield* limits(webhook), ["monthlyTokens 100", "monthlyUsd 0.5"])
      yield* put({ monthlyTokens: 200 })
      yield* put({ monthlyTokens: 100 })
      assert.strictEqual((yield* limits(webhook)).length, 2)
      yield* put({ monthlyTokens: 50 })
      assert.deepStrictEqual((yield* limits(webhook)).slice(2), ["monthlyTokens 50"])
    })
  )

  it.effect("tells it of many that book together", () =>
    Effect.gen(function* () {
      const { begin, limits, put, workspaceId } = yield* subject
      const journal = yield* RunJournal
      const webhook = yield* makeWebhook(workspaceId)
      yield* put({ monthlyTokens: 40 })
      const executions = yield* Effect.all(Array.from({ length: 40 }, () => begin))
      yield* Effect.forEach(executions, (execution) => journal.record(execution, 0, answer(1, 0)), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* limits(webhook), ["monthlyTokens 40"])
    })
  )

  it.effect(
    "tells it with the refusal of a call where nobody was told before, and of no limit of a run",
    () =>
      Effect.gen(function* () {
        const { begin, book, limits, put, repo, workspaceId } = yield* subject
        yield* put({ monthlyTokens: 10, runTokens: 5 })
        yield* book(9)
        const webhook = yield* makeWebhook(workspaceId)
        const execution = yield* begin
        const reserve = (tokens: number) =>
          repo.reserve({
            execution,
            workspaceId,
            bound: { tokens: 1, costNanos: 0 },
            run: { ...nothingSpent, tokens }
          })
        assert.strictEqual((yield* reserve(5)).type, "refused")
        assert.deepStrictEqual(yield* limits(webhook), [])
        const late = yield* makeWebhook(yield* makeWorkspace)
        yield* put({ monthlyTokens: 9 })
        assert.deepStrictEqual(yield* limits(webhook), ["monthlyTokens 9"])
        assert.deepStrictEqual(yield* limits(late), [])
      })
  )

  it.effect("tells a webhook that was made later with the next call that is refused", () =>
    Effect.gen(function* () {
      const { begin, book, limits, put, repo, workspaceId } = yield* subject
      const execution = yield* begin
      yield* put({ monthlyTokens: 10 })
      yield* book(10)
      const webhook = yield* makeWebhook(workspaceId)
      const reserve = repo.reserve({
        execution,
        workspaceId,
        bound: { tokens: 1, costNanos: 0 },
        run: nothingSpent
      })
      for (let n = 0; n < 2; n++) assert.strictEqual((yield* reserve).type, "refused")
      assert.deepStrictEqual(yield* limits(webhook), ["monthlyTokens 10"])
    })
  )
}

export const suite = (it: It) =>
  describe("webhooks, what else they are told of", { concurrent: false }, () => {
    ofSlots(it)
    ofConnectors(it)
    ofBudgets(it)
  })
