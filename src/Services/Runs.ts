import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { type AgentInactive, requireActive } from "../Schemas/Agent.ts"
import { type BudgetExceeded, budgetExceeded } from "../Schemas/Budget.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import { runOfJob } from "../Schemas/CronFire.ts"
import {
  type Forbidden,
  InvalidInput,
  type NotFound,
  notFound,
  type RateLimited,
  type Unavailable
} from "../Schemas/Errors.ts"
import type { CronJobId, RunId, UserId } from "../Schemas/Ids.ts"
import { modelChoice } from "../Schemas/ModelChoice.ts"
import type { Batch, Place } from "../Schemas/Page.ts"
import {
  type CreateTask,
  type NewRun,
  type Run,
  type RunDetail,
  RunFinished,
  runOfTask,
  type StoredRun,
  toRun,
  toRunDetail
} from "../Schemas/Run.ts"
import { runAtProblem } from "../Schemas/RunAt.ts"
import type { NumberedEvent } from "../Schemas/RunEvent.ts"
import { RunNotRetryable, retryProblem } from "../Schemas/RunRetry.ts"
import { type RunTimeline, toRunTimeline } from "../Schemas/RunTimeline.ts"
import type { Caller } from "../Schemas/Token.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { ApprovalRepo } from "./ApprovalRepo.ts"
import { audited } from "./Audited.ts"
import { BudgetRepo } from "./BudgetRepo.ts"
import { CronJobRepo } from "./CronJobRepo.ts"
import { now } from "./CurrentTime.ts"
import { Readers } from "./Engine/Readers.ts"
import { RunEvents } from "./Engine/RunEvents.ts"
import * as Spans from "./Engine/Spans.ts"
import { Waits } from "./Engine/Waits.ts"
import { Engine } from "./Engine.ts"
import { Ids } from "./Ids.ts"
import { Inference } from "./Inference.ts"
import * as Listing from "./Listing.ts"
import { orUnknown, References } from "./References.ts"
import { RunJournal } from "./RunJournal.ts"
import { type RunFilter, RunRepo } from "./RunRepo.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import * as Telemetry from "./Telemetry.ts"

/** What a caller does with tasks and runs (specification, Tasks and runs). */
export class Runs extends Context.Service<
  Runs,
  {
    /** Stores a PENDING run: once this has succeeded, it will be executed, not before `runAt`. */
    readonly create: (
      user: User,
      input: CreateTask
    ) => Effect.Effect<
      Run,
      AgentInactive | BudgetExceeded | Forbidden | InvalidInput | PlanLimitExceeded | Unavailable
    >
    /**
     * Makes a run of a cron job now, whatever its schedule says, whether it is on, and whether a former run of
     * it is still active; the slots of the job go on as if nothing had happened, but one that comes while this
     * run is active is an `overlap`.
     */
    readonly createOfJob: (
      user: User,
      id: CronJobId
    ) => Effect.Effect<
      Run,
      AgentInactive | BudgetExceeded | InvalidInput | NotFound | PlanLimitExceeded | Unavailable
    >
    /** A run with what came of it so far. */
    readonly get: (user: User, id: RunId) => Effect.Effect<RunDetail, NotFound | Unavailable>
    /** What it did and waited for, along time. */
    readonly timeline: (user: User, id: RunId) => Effect.Effect<RunTimeline, NotFound | Unavailable>
    /**
     * Waits until a run is over, waits for people or is gone, for `millis` at most, without asking the store meanwhile;
     * at once when this process is told to stop. False, and nothing is waited for, where too many wait here.
     */
    readonly wait: (userId: UserId, id: RunId, millis: number) => Effect.Effect<boolean>
    /**
     * Ends a run that is not over: it is CANCELLED at once, and whoever executes it stops. Cancelling it
     * again changes nothing.
     */
    readonly cancel: (user: User, id: RunId) => Effect.Effect<RunDetail, NotFound | RunFinished | Unavailable>
    /**
     * Makes a task that is FAILED or CANCELLED go on behind its last step, as `RunRepo.retry` has it: PENDING, as it is
     * answered. Of those who do so at the same time one does, and the others are refused.
     */
    readonly retry: (
      user: User,
      id: RunId
    ) => Effect.Effect<
      RunDetail,
      AgentInactive | BudgetExceeded | NotFound | PlanLimitExceeded | RunNotRetryable | Unavailable
    >
    /**
     * What a run or chat turn told behind the event `after`, and then what it tells, as `RunEvents` has it, for as
     * long as `Readers` lets the caller read; none behind its end. `after` is 0 for all.
     */
    readonly events: (
      caller: Caller,
      id: RunId,
      after: number
    ) => Effect.Effect<
      Option.Option<Stream.Stream<NumberedEvent>>,
      NotFound | RateLimited | Unavailable,
      Scope.Scope
    >
    /** Newest first, with the number of all that match; behind `after` or without `offset`, not both. */
    readonly list: (
      user: User,
      filter: RunFilter & {
        readonly limit: number
        readonly offset?: number | undefined
        readonly after?: RunId | undefined
      }
    ) => Effect.Effect<
      { readonly runs: Listing.Listing<Run>; readonly total: number },
      Forbidden | InvalidInput | Unavailable
    >
  }
>()("agentd/Services/Runs") {
  static readonly layer = Layer.effect(
    Runs,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const inference = yield* Inference
      const references = yield* References
      const repo = yield* RunRepo
      const { quotas } = yield* Settings
      const engine = yield* Engine
      const journals = yield* RunJournal
      const approvals = yield* ApprovalRepo
      const listOf = yield* makeListOf
      const ofJob = yield* makeOfJob
      const readers = yield* Readers
      const { cancel, retry } = yield* makeEnds
      const runEvents = yield* RunEvents

      const visible = Effect.fnUntraced(function* (user: User, id: RunId) {
        return yield* access.visible(user, "run", yield* repo.find(id))
      })
      const detail = (run: StoredRun) =>
        Effect.map(journals.steps(run.id), (steps) => toRunDetail(run, steps))

      const submit = (run: NewRun, withEntry: ReturnType<typeof audited>) =>
        engine
          .submit(run, (start) => withEntry(repo.insert(run, start, [], quotas.pendingRuns)))
          .pipe(Effect.tap(Telemetry.annotate(() => ({ "agentd.run.id": run.id }))), Effect.as(toRun(run)))

      return Runs.of({
        create: Effect.fnUntraced(function* (user, input) {
          yield* access.member(user, input.workspaceId)
          const { agent } = yield* references.resolve(input.workspaceId, input)
          yield* Effect.fromResult(requireActive(agent))
          const refusal = yield* inference.refusal(modelChoice(input.workspaceId, agent, input))
          if (refusal !== undefined) return yield* new InvalidInput({ error: refusal })
          const at = yield* now
          const problem = runAtProblem(input, at)
          if (problem !== undefined) return yield* new InvalidInput({ error: problem })
          const id = yield* ids.make<RunId>("run")
          const traceparent = yield* Telemetry.traceparent
          const run = runOfTask(input, { id, agent, at, traceparent })
          return yield* orUnknown(submit(run, audited("run.create", run)))
        }),
        createOfJob: Effect.fn("Runs.createOfJob")((user, id) =>
          Effect.flatMap(ofJob(user, id), (run) =>
            submit(run, audited("cron_job.run", { workspaceId: run.workspaceId, id }))
          ).pipe(
            // A job whose agent was just deleted goes on without one; one that was itself is not found.
            Effect.retry({ times: 1, while: isGone }),
            Effect.catchTag("ReferenceGone", () => notFound("cron job"))
          )
        ),
        get: Effect.fnUntraced(function* (user, id) {
          return yield* detail(yield* visible(user, id))
        }),
        timeline: Effect.fnUntraced(function* (user, id) {
          const run = yield* visible(user, id)
          const times = yield* journals.times(id)
          return toRunTimeline({ run, ...times, approvals: yield* approvals.ofRun(id) })
        }),
        wait: (yield* Waits).settled,
        cancel: (user, id) => Effect.flatMap(cancel(user, id), detail),
        retry: (user, id) => Effect.flatMap(retry(user, id), detail),
        events: Effect.fnUntraced(function* (caller, id, after) {
          const run = yield* visible(caller, id)
          if (yield* runEvents.isBehindEnd(run, after)) return Option.none()
          const events = Effect.sync(() => runEvents.follow(id, after))
          return Option.some(yield* readers.open(caller, run.workspaceId, after, events))
        }),
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, {
            projectId: filter.projectId,
            agentId: filter.agentId,
            cronJobId: filter.cronJobId
          })
          return yield* listOf(filter)
        })
      })
    })
  )
}

const toRuns = (batch: Batch<StoredRun, Place>) => ({ ...batch, rows: batch.rows.map(toRun) })

const makeListOf = Effect.gen(function* () {
  const repo = yield* RunRepo

  return Effect.fnUntraced(function* (asked: Parameters<Runs["Service"]["list"]>[1]) {
    const { after, limit, offset, ...filter } = asked
    if (after !== undefined && offset !== undefined) {
      return yield* new InvalidInput({ error: "after: can't be used together with offset" })
    }
    const from = after === undefined ? null : { id: after, createdAt: null }
    const part = { ...filter, limit, offset: offset ?? 0, after: from }
    const { next, runs, total } = yield* orUnknown(repo.list(part))
    const listing = yield* Listing.make({
      limit,
      first: () => Effect.succeed(toRuns({ rows: runs, next })),
      extent: repo.extent(part),
      slice: (range) => Effect.map(repo.slice(filter, range), toRuns)
    })
    return { runs: { ...listing, next: null }, total }
  })
})

/** A run of a cron job as the job is now. */
const makeOfJob = Effect.gen(function* () {
  const access = yield* Access
  const cronJobs = yield* CronJobRepo
  const ids = yield* Ids
  const references = yield* References

  return Effect.fnUntraced(function* (user: User, id: CronJobId) {
    const job = yield* access.visible(user, "cron job", yield* cronJobs.find(id))
    const { agent } = yield* references.resolve(job.workspaceId, { agentId: job.agentId })
    yield* Effect.fromResult(requireActive(agent))
    const agentPolicy = agent?.policy ?? null
    const runId = yield* ids.make<RunId>("run")
    return runOfJob({ ...job, agentPolicy }, runId, yield* now, yield* Telemetry.traceparent)
  })
})

/** Ends a run, or makes it go on, and wakes whoever executes or reads it. */
const makeEnds = Effect.gen(function* () {
  const access = yield* Access
  const agents = yield* AgentRepo
  const budgets = yield* BudgetRepo
  const repo = yield* RunRepo
  const { quotas } = yield* Settings
  const signals = yield* Signals

  const visible = Effect.fnUntraced(function* (user: User, id: RunId) {
    return yield* access.visible(user, "run", yield* repo.find(id))
  })
  const tell = (id: RunId) =>
    Effect.andThen(signals.publish({ type: "run", id }), signals.publish({ type: "runs" }))

  return {
    cancel: Effect.fnUntraced(function* (user: User, id: RunId) {
      const found = yield* visible(user, id)
      if (yield* repo.cancel(id, yield* now).pipe(audited("run.cancel", found))) yield* tell(id)
      const run = yield* visible(user, id)
      if (run.status === "CANCELLED") return run
      return yield* new RunFinished({ error: `the run is over: ${run.status}` })
    }),
    retry: Effect.fnUntraced(function* (user: User, id: RunId) {
      const found = yield* visible(user, id)
      const problem = retryProblem(found, false)
      if (problem !== undefined) return yield* new RunNotRetryable({ error: problem })
      const agent = found.agentId === null ? null : Option.getOrNull(yield* agents.find(found.agentId))
      yield* Effect.fromResult(requireActive(agent))
      const reached = yield* budgets.reached(found.workspaceId)
      if (Option.isSome(reached)) return yield* budgetExceeded(reached.value)
      const run = yield* repo.retry(id, yield* now, quotas.pendingRuns).pipe(audited("run.retry", found))
      yield* Spans.retried(run)
      yield* tell(id)
      return run
    })
  }
})

const isGone = ({ _tag }: { readonly _tag: string }) => _tag === "ReferenceGone" || _tag === "InvalidInput"
