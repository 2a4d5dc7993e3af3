import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Approval, type StoredApproval, toApproval } from "../../../Schemas/Approval.ts"
import { type LimitName, monthOf, nanosOf } from "../../../Schemas/Budget.ts"
import { Connector, type StoredConnector, toConnector } from "../../../Schemas/Connector.ts"
import { StoredHealth } from "../../../Schemas/ConnectorHealth.ts"
import { CronJob, type StoredCronJob, toCronJob } from "../../../Schemas/CronJob.ts"
import { idOf, type WebhookDeliveryId, type WebhookEventId, type WorkspaceId } from "../../../Schemas/Ids.ts"
import { isSettled, RunDetail, type StoredRun, toRunDetail } from "../../../Schemas/Run.ts"
import type { WebhookEventType } from "../../../Schemas/WebhookEvent.ts"
import { Signals } from "../../../Services/Signals.ts"
import { standingOf } from "./Budgets.ts"
import { type Moment, moment } from "./RunRepo/Moment.ts"
import { Store, type Tables } from "./Store.ts"

/** What webhooks are told of, before there is an event of it. */
interface Happening {
  readonly workspaceId: WorkspaceId
  readonly type: WebhookEventType
  readonly facts: Schema.JsonObject
  readonly traceparent?: string | null | undefined
}

const encoderOf = <A>(schema: Schema.Codec<A, unknown>) =>
  Schema.encodeSync(Schema.toCodecJson(schema), { disableChecks: true }) as (value: A) => Schema.JsonObject
const detail = encoderOf(RunDetail)
const approvalFacts = encoderOf(Approval)
const cronJobFacts = encoderOf(CronJob)
const connectorFacts = encoderOf(Connector)
const healthFacts = encoderOf(StoredHealth)

/** Of what triggers look at (migrations 37 and 39), as it was. */
const lookAt = ({ approvals, budgets, cronFires, failingConnectors, runs, usage }: Tables) => ({
  approvals: new Map(approvals),
  budgets: new Map(budgets),
  cronFires: new Map(cronFires),
  failingConnectors: new Map(failingConnectors),
  runs: new Map(runs),
  usage: new Map(usage)
})
type Before = ReturnType<typeof lookAt>

/** What is another now than before; what is new or gone is not. */
const changedOf = <A>(now: ReadonlyMap<string, A>, before: ReadonlyMap<string, A>) =>
  Array.from(now).flatMap(([key, row]) => {
    const old = before.get(key)
    return old === undefined || old === row ? [] : [{ old, row }]
  })

const typeOf = ({ status, turn }: StoredRun): WebhookEventType | undefined => {
  if (status === "WAITING_APPROVAL") return "run.waiting_approval"
  if (status === "COMPLETED") return turn === null ? "run.completed" : "turn.completed"
  if (status === "FAILED") return turn === null ? "run.failed" : "turn.failed"
  return status === "CANCELLED" && turn === null ? "run.cancelled" : undefined
}

const runFacts = (tables: Tables, run: StoredRun): Schema.JsonObject => {
  const kept = Array.from(tables.steps.get(run.id) ?? [])
  const { steps: _, ...facts } = detail(
    toRunDetail(run, new Map(kept.map(([index, { step }]) => [index, step])))
  )
  const { conversationId, replyId: messageId } = run.turn ?? {}
  const waitsFor = ({ runId, status }: StoredApproval) => runId === run.id && status === "PENDING"
  const byAge = (a: StoredApproval, b: StoredApproval) =>
    a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1)
  return {
    ...facts,
    ...(conversationId !== undefined && messageId !== undefined && { conversationId, messageId }),
    ...(run.status === "WAITING_APPROVAL" && {
      approvals: Array.from(tables.approvals.values())
        .filter(waitsFor)
        .sort(byAge)
        .map((approval) => approvalFacts(toApproval(approval)))
    })
  }
}

const runsIn = (tables: Tables, before: Before): ReadonlyArray<Happening> =>
  changedOf(tables.runs, before.runs).flatMap(({ old, row }) => {
    const type = typeOf(row)
    return old.status === row.status || !isSettled(row.status) || type === undefined
      ? []
      : [
          {
            workspaceId: row.workspaceId,
            type,
            facts: runFacts(tables, row),
            traceparent: row.traceparent
          }
        ]
  })

const decisionsIn = (tables: Tables, before: Before): ReadonlyArray<Happening> =>
  changedOf(tables.approvals, before.approvals).flatMap(({ old, row }) =>
    old.status === "PENDING" && (row.status === "APPROVED" || row.status === "REJECTED")
      ? [
          {
            workspaceId: row.workspaceId,
            type: "approval.decided",
            facts: approvalFacts(toApproval(row)),
            traceparent: tables.runs.get(row.runId)?.traceparent
          }
        ]
      : []
  )

const jobFacts = ({ agents }: Tables, job: Omit<StoredCronJob, "agent">): Schema.JsonObject => {
  const agent = job.agentId === null ? undefined : agents.get(job.agentId)
  return cronJobFacts(
    toCronJob({ ...job, agent: agent === undefined ? null : { id: agent.id, name: agent.name } })
  )
}

const missedIn = (tables: Tables, before: Before): ReadonlyArray<Happening> => {
  const byJob = new Map<string, Array<string>>()
  for (const [key, { cronJobId, outcome, scheduledAt }] of tables.cronFires) {
    if (outcome !== "missed" || before.cronFires.has(key)) continue
    byJob.set(cronJobId, [...(byJob.get(cronJobId) ?? []), scheduledAt.toISOString()])
  }
  return Array.from(byJob).flatMap(([id, slots]) => {
    const job = tables.cronJobs.get(id)
    const [first = null, last = first] = [slots.sort()[0], slots.at(-1)]
    const missed = { count: slots.length, first, last }
    return job === undefined
      ? []
      : [{ workspaceId: job.workspaceId, type: "cron.missed", facts: { ...jobFacts(tables, job), missed } }]
  })
}

const connectorsIn = (tables: Tables, before: Before): ReadonlyArray<Happening> => {
  const of = (id: string, type: WebhookEventType): ReadonlyArray<Happening> => {
    const connector: StoredConnector | undefined = tables.connectors.get(id)
    const health = tables.connectorHealth.get(id)
    if (connector === undefined || health === undefined) return []
    const facts = { ...connectorFacts(toConnector(connector)), health: healthFacts(health) }
    return [{ workspaceId: connector.workspaceId, type, facts }]
  }
  const now = tables.failingConnectors
  return [
    ...Array.from(now.keys()).flatMap((id) =>
      before.failingConnectors.has(id) ? [] : of(id, "connector.error")
    ),
    ...Array.from(before.failingConnectors.keys()).flatMap((id) =>
      now.has(id) ? [] : of(id, "connector.recovered")
    )
  ]
}

/** Workspaces that booked something, whose budget was set, or of which a call was refused. */
const bookedIn = (tables: Tables, before: Before): ReadonlySet<string> =>
  new Set([
    ...tables.refusedBudgets.keys(),
    ...Array.from(tables.usage).flatMap(([key, { workspaceId }]) =>
      before.usage.has(key) ? [] : [workspaceId]
    ),
    ...Array.from(tables.budgets).flatMap(([id, budget]) => (before.budgets.get(id) === budget ? [] : [id]))
  ])

const budgetsIn = (tables: Tables, before: Before, at: Moment): ReadonlyArray<Happening> =>
  Array.from(bookedIn(tables, before)).flatMap((id) => {
    const budget = tables.budgets.get(id)
    const workspaceId = id as WorkspaceId
    if (budget === undefined || wanting(tables, workspaceId, "budget.reached").length === 0) return []
    const { lost, reserved, used } = standingOf(tables, id, at)
    const monthlyNanos = budget.monthlyUsd === null ? null : nanosOf(budget.monthlyUsd)
    const limits: ReadonlyArray<readonly [LimitName, number | null, number]> = [
      ["monthlyUsd", monthlyNanos, used.costNanos + lost.costNanos],
      ["monthlyTokens", budget.monthlyTokens, used.tokens + lost.tokens]
    ]
    return limits.flatMap(([limit, amount, spent]): ReadonlyArray<Happening> => {
      const key = `${id} ${monthOf(at.at)} ${limit} ${amount}`
      if (amount === null || spent < amount || tables.toldBudgets.has(key)) return []
      tables.toldBudgets.set(key, true)
      const facts = {
        workspaceId,
        limit,
        amount,
        month: monthOf(at.at),
        monthlyNanos,
        monthlyTokens: budget.monthlyTokens,
        usedTokens: used.tokens,
        usedNanos: used.costNanos,
        lostTokens: lost.tokens,
        lostNanos: lost.costNanos,
        reservedTokens: reserved.tokens,
        reservedNanos: reserved.costNanos
      }
      return [{ workspaceId, type: "budget.reached", facts }]
    })
  })

const wanting = ({ webhooks }: Tables, workspaceId: WorkspaceId, type: WebhookEventType) =>
  Array.from(webhooks.values()).filter(
    (webhook) =>
      webhook.workspaceId === workspaceId &&
      webhook.isActive &&
      webhook.events.some((event) => event === type || event === "*")
  )

/**
 * Writes what webhooks are to be told of with what is done to the tables, as the triggers of migrations 37 and 39 do. Nothing of it
 * is done where there is no webhook that is active.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const random = yield* SecureRandom.SecureRandom
    const { publish } = yield* Signals
    const { tables, watch } = yield* Store

    const write = Effect.fnUntraced(function* ({ facts, traceparent = null, type, workspaceId }: Happening) {
      const webhooks = wanting(tables, workspaceId, type)
      if (webhooks.length === 0) return false
      const { at } = yield* moment
      const id = idOf<WebhookEventId>("webhookEvent", yield* random.ulid)
      tables.webhookEvents.set(id, { id, workspaceId, type, at, facts, traceparent })
      for (const webhook of webhooks) {
        const deliveryId = idOf<WebhookDeliveryId>("webhookDelivery", yield* random.ulid)
        tables.webhookDeliveries.set(deliveryId, {
          id: deliveryId,
          webhookId: webhook.id,
          eventId: id,
          type,
          status: "pending",
          attempts: 0,
          nextAttemptAt: at,
          lastAttempt: null,
          createdAt: at
        })
      }
      return true
    })

    const tell = Effect.fnUntraced(function* (before: Before) {
      const happenings = [
        ...runsIn(tables, before),
        ...decisionsIn(tables, before),
        ...missedIn(tables, before),
        ...connectorsIn(tables, before),
        ...budgetsIn(tables, before, yield* moment)
      ]
      tables.refusedBudgets.clear()
      const written = yield* Effect.forEach(happenings, write)
      if (written.includes(true)) yield* publish({ type: "webhooks" })
    })

    watch((effect) =>
      Effect.suspend(() => {
        if (!Array.from(tables.webhooks.values()).some(({ isActive }) => isActive)) return effect
        const before = lookAt(tables)
        return Effect.tap(effect, () => tell(before))
      })
    )
  })
).pipe(Layer.provide(SecureRandom.layerWebCrypto))
