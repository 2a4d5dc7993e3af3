import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import { LimitName } from "../Schemas/Budget.ts"
import { FireOutcome } from "../Schemas/CronFire.ts"
import type { RunKind, RunStatus } from "../Schemas/Run.ts"

/**
 * What an operator watches, as `GET /metrics` shows it (CONTRACT.md section 13). Attributes have few values each, and
 * none is of a tenant: whoever reaches the port may read them.
 */

export const httpRequests = Metric.counter("http_requests_total", {
  description: "Requests answered, by method and status; 499: the client went away before the answer",
  incremental: true
})

export const httpSeconds = Metric.histogram("http_request_seconds", {
  description: "Time until the headers of an answer, in seconds",
  boundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
})

const runsFinished = Metric.counter("runs_finished_total", {
  description: "Runs that this node has brought to their end, also without executing them, by status",
  incremental: true
})

const turnsFinished = Metric.counter("chat_turns_finished_total", {
  description: "Chat turns that this node has brought to their end, by how they ended",
  incremental: true
})

export const httpErrors = Metric.counter("http_errors_total", {
  description: "Requests answered with 4xx or 5xx, by the X-Error-Code of the answer",
  incremental: true
})

const runsTakenOver = Metric.counter("runs_taken_over_total", {
  description: "Runs and chat turns whose worker was gone, that this node goes on with",
  incremental: true
})

const leasesExpired = Metric.counter("leases_expired_total", {
  description: "Runs and chat turns that this node had to stop, since it could not keep their leases in time",
  incremental: true
})

const budgetRefused = Metric.counter("budget_refused_calls_total", {
  description: "Calls of models that this node has not made because of a budget, by the limit that was met",
  incremental: true
})

export const budgetWaiting = Metric.gauge("node_budget_waiting", {
  description:
    "Runs and chat turns of this node that wait for the budget of their workspace to let a call begin"
})

export const cronSlots = Metric.counter("cron_slots_total", {
  description: "Slots of cron jobs that this node has handled, by outcome",
  incremental: true
})

export const cronLag = Metric.histogram("cron_lag_seconds", {
  description: "From the instant of a slot until this node has handled it, missed ones left out, in seconds",
  boundaries: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]
})

export const modelTokens = Metric.counter("model_tokens_total", {
  description: "Tokens that models have read (input) and written (output) for this node, as providers say",
  incremental: true
})

const callBoundaries = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

export const modelCost = Metric.counter("model_cost_usd_total", {
  description: "What answers of models have cost for this node, in US dollars, as far as prices are known",
  incremental: true
})

export const modelUnpriced = Metric.counter("model_unpriced_calls_total", {
  description: "Answers of models for this node whose cost is not known",
  incremental: true
})

export const modelSeconds = Metric.histogram("model_call_seconds", {
  description: "Calls of models by this node until their end, with what is tried again, in seconds",
  boundaries: callBoundaries
})

export const toolSeconds = Metric.histogram("tool_call_seconds", {
  description: "Calls of tools by this node until their end, in seconds",
  boundaries: callBoundaries
})

export const nodeRuns = Metric.gauge("node_runs", {
  description: "Runs and chat turns that this node executes now"
})

export const nodeWaiting = Metric.gauge("node_waiting_requests", {
  description: "Requests that wait on this node for a run to be over or to wait for people (Prefer: wait)"
})

export const nodePlaces = Metric.gauge("node_places", {
  description: "How many runs and chat turns this node executes at most"
})

export const databaseUp = Metric.gauge("database_up", {
  description: "Whether the database has answered the latest look at it (1) or not (0)"
})

export const databaseRuns = Metric.gauge("database_runs", {
  description: "Runs and chat turns in the database that all nodes share: waiting, running, parked"
})

export const databaseOldest = Metric.gauge("database_oldest_waiting_seconds", {
  description: "Age of the oldest run or chat turn that waits in the database that all nodes share, or 0"
})

export const oldestSnapshot = Metric.gauge("database_oldest_snapshot_seconds", {
  description:
    "For how long the oldest snapshot of the database is held, as this node saw within the last minute"
})

export const poolInUse = Metric.gauge("database_pool_in_use", {
  description: "Sessions of the database that this node is using"
})

export const poolWaiting = Metric.gauge("database_pool_waiting", {
  description: "Statements and transactions of this node that wait for a session"
})

export const poolSize = Metric.gauge("database_pool_size", {
  description: "Sessions of the database that this node may use at once"
})

export const replicaLag = Metric.gauge("database_replica_lag_seconds", {
  description: "How old at most what the replica of the database shows is, in seconds"
})

export const databaseReads = Metric.counter("database_reads_total", {
  description: "Reads that may be a second old, by who has answered them: replica, primary",
  incremental: true
})

export const rightsRefused = Metric.counter("rights_refused_total", {
  description: "Requests that this node has refused since they take an owner of the workspace",
  incremental: true
})

export const auditLost = Metric.counter("audit_entries_lost_total", {
  description: "Entries of the audit log of what changed nothing that this node could not write",
  incremental: true
})

export const nodeWebhooks = Metric.gauge("node_webhook_sends", {
  description: "Deliveries of webhooks that this node attempts now"
})

export const webhookAttempts = Metric.counter("webhook_attempts_total", {
  description: "Attempts of this node to deliver to a webhook, by outcome: delivered, retry, failed, gone",
  incremental: true
})

export const webhookSeconds = Metric.histogram("webhook_attempt_seconds", {
  description: "Attempts of this node to deliver to a webhook until their answer, in seconds",
  boundaries: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]
})

export const webhookBacklog = Metric.gauge("webhook_backlog", {
  description: "Deliveries of webhooks that are pending in the database that all nodes share"
})

export const webhookOldest = Metric.gauge("webhook_backlog_oldest_seconds", {
  description: "For how long the delivery of a webhook is due that has been for longest, or 0"
})

export const webhooksDisabled = Metric.counter("webhooks_disabled_total", {
  description: "Webhooks that were switched off by attempts of this node, by reason: gone, failing",
  incremental: true
})

export const telemetryDropped = Metric.counter("telemetry_dropped_total", {
  description: "Spans, lines of the log and exports of metrics that the collector did not get, by signal",
  incremental: true
})

/** What a metric is called outside: what every process has as everywhere else, so that what is made for it finds it. */
export const publicName = (name: string): string =>
  /^(process|nodejs)_/u.test(name) ? name : `agentd_${name}`

/**
 * The series of a metric by the values of these attributes, of which there are few: to name one takes longer than to
 * count, and so it is named once.
 */
export const seriesOf = <Input, State, const Names extends ReadonlyArray<string>>(
  metric: Metric.Metric<Input, State>,
  ...names: Names
) => {
  const known = new Map<string, Metric.Metric<Input, State>>()
  return (...values: { readonly [Index in keyof Names]: string }): Metric.Metric<Input, State> => {
    const key = values.join("\n")
    const found = known.get(key)
    if (found !== undefined) return found
    const made = Metric.withAttributes(
      metric,
      Object.fromEntries(names.map((name, index) => [name, values[index] ?? ""]))
    )
    known.set(key, made)
    return made
  }
}

const finishedOf = seriesOf(runsFinished, "status")
const endedOf = seriesOf(turnsFinished, "ending")

/** That runs of a kind have ended: told once of each, by whoever has brought it to its end. */
export const countEnds = (
  kind: RunKind,
  status: Extract<RunStatus, "COMPLETED" | "FAILED" | "CANCELLED">,
  times = 1
): Effect.Effect<void> =>
  Metric.update(
    kind === "task" ? finishedOf(status) : endedOf(status === "COMPLETED" ? "done" : "error"),
    times
  )

const takenOverOf = seriesOf(runsTakenOver, "kind")
const expiredOf = seriesOf(leasesExpired, "kind")
const refusedOf = seriesOf(budgetRefused, "limit")

/** Runs of a kind that others left behind go on here. */
export const countTakenOver = (kind: RunKind, times: number): Effect.Effect<void> =>
  Metric.update(takenOverOf(kind), times)

/** Executions of a kind were stopped here whose leases had ended. */
export const countExpired = (kind: RunKind, times: number): Effect.Effect<void> =>
  Metric.update(expiredOf(kind), times)

/** A call was not made: of a limit that is reached, or since its `price` is not known. */
export const countBudgetRefusal = (limit: LimitName | "price", times = 1): Effect.Effect<void> =>
  Metric.update(refusedOf(limit), times)

/** A series of these attributes is read where it is, whenever somebody looks, until the scope closes. */
export const observe = (
  metric: Metric.Gauge<number>,
  attributes: Metric.Metric.AttributeSet,
  read: () => number
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.contextWith((context: Context.Context<never>) =>
        Effect.sync(() =>
          Metric.registerUnsafe(Metric.withAttributes(metric, attributes), context, {
            get: () => ({ value: read() }),
            update: () => {},
            modify: () => {}
          })
        )
      ),
      (registration) => Effect.sync(registration.remove)
    )
  )

/** Series that are 0 and there before anything happens: a rate sees the first event as well. */
export const begin: Effect.Effect<void> = Effect.gen(function* () {
  for (const status of ["COMPLETED", "FAILED", "CANCELLED"] as const) {
    yield* countEnds("task", status, 0)
    yield* countEnds("turn", status, 0)
  }
  for (const kind of ["task", "turn"] as const) {
    yield* countTakenOver(kind, 0)
    yield* countExpired(kind, 0)
  }
  for (const limit of [...LimitName.literals, "price"] as const) yield* countBudgetRefusal(limit, 0)
  for (const outcome of FireOutcome.literals) {
    yield* Metric.update(Metric.withAttributes(cronSlots, { outcome }), 0)
  }
  for (const outcome of ["delivered", "retry", "failed", "gone"]) {
    yield* Metric.update(Metric.withAttributes(webhookAttempts, { outcome }), 0)
  }
  for (const reason of ["gone", "failing"]) {
    yield* Metric.update(Metric.withAttributes(webhooksDisabled, { reason }), 0)
  }
  yield* Metric.update(Metric.withAttributes(httpErrors, { code: "budget_exceeded" }), 0)
  yield* Metric.update(rightsRefused, 0)
  yield* Metric.update(auditLost, 0)
})
