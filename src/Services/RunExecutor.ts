import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import { modelChoice } from "../Schemas/ModelChoice.ts"
import type { StoredRun } from "../Schemas/Run.ts"
import { noUsage } from "../Schemas/Usage.ts"
import { AgentLoop, type LoopEvent } from "./AgentLoop.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { now } from "./CurrentTime.ts"
import { runsFinished } from "./Metrics.ts"
import { RunDispatch } from "./RunDispatch.ts"
import { RunJournal } from "./RunJournal.ts"
import { type Execution, type RunOutcome, RunRepo } from "./RunRepo.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import { ToolSource } from "./ToolSource.ts"

const pollMillis = 1_000
const watchMillis = 500

/** A run in one of this node's slots: until when it is ours, by the clock of this process. */
interface Slot {
  readonly epoch: number
  until: number
}

/**
 * Executes runs in the background, at most `runConcurrency` at once: those that were made here with a free
 * slot at once, those that wait as slots fall free, and those whose worker is gone when its lease has ended.
 * A database that is away stops nothing while the lease may still be ours: what was to be written is tried
 * again. A run that another has taken over, or that was cancelled, is interrupted. Closing it hands
 * unfinished runs back.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const agents = yield* AgentRepo
    const dispatch = yield* RunDispatch
    const journals = yield* RunJournal
    const loop = yield* AgentLoop
    const repo = yield* RunRepo
    const settings = yield* Settings
    const signals = yield* Signals
    const toolSource = yield* ToolSource
    const { leaseMillis, maxCrashes, runsPerWorkspace, worker } = settings
    const claimant = { worker, leaseMillis }

    // Runs that a former process of this name held when it died are nobody's now.
    yield* repo.release(worker, { crashed: true, maxCrashes })
    yield* Effect.addFinalizer(() =>
      repo.release(worker, { crashed: false, maxCrashes }).pipe(
        Effect.andThen(signals.publish({ type: "runs" })),
        Effect.catch((error) => Effect.logWarning("runs not handed back", error.error))
      )
    )
    const running = yield* FiberMap.make<RunId>()
    const slots = new Map<RunId, Slot>()
    const awake = yield* Latch.make(false)
    let reserved = 0
    const free = () => settings.runConcurrency - slots.size - reserved
    /** Less than the lease, so that this process has stopped before another begins. */
    const ours = (since: number) => since + leaseMillis * 0.9

    const perform = Effect.fn("RunExecutor.perform")(function* (
      run: StoredRun,
      emit: (event: LoopEvent) => Effect.Effect<void>
    ) {
      const execution: Execution = { id: run.id, worker, epoch: run.epoch }
      const agent = run.agentId === null ? null : Option.getOrNull(yield* agents.find(run.agentId))
      const result = yield* loop.run({
        request: {
          choice: modelChoice(run.workspaceId, agent, run),
          system: agent?.systemPrompt ?? null,
          messages: [{ role: "user", content: run.prompt }]
        },
        tools: yield* toolSource.tools(run),
        journal: {
          finished: run.epoch > 1 ? yield* journals.steps(run.id) : new Map(),
          record: (index, step) => whileOurs(journals.record(execution, index, step))
        },
        emit
      })
      return { status: "COMPLETED", output: result.answer, usage: result.usage } satisfies RunOutcome
    })

    const execute = Effect.fnUntraced(function* (run: StoredRun) {
      let usage = noUsage
      let firstTokenAt: Date | null = null
      const failed = (error: string): RunOutcome => ({ status: "FAILED", error, usage })
      const emit = (event: LoopEvent) =>
        Effect.gen(function* () {
          if (event.type === "usage") usage = event.usage
          if (event.type === "text" && firstTokenAt === null) firstTokenAt = yield* now
        })
      const outcome = yield* whileOurs(perform(run, emit)).pipe(
        Effect.catchTags({
          InferenceError: ({ error }) => Effect.succeed(failed(error)),
          LimitExceeded: ({ error }) => Effect.succeed(failed(error))
        }),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("a run failed", Cause.die(defect)), failed("internal error"))
        )
      )
      const at = yield* now
      const kept = yield* whileOurs(
        repo.finish({ id: run.id, worker, epoch: run.epoch }, outcome, { at, firstTokenAt })
      )
      if (!kept) return
      yield* Metric.update(Metric.withAttributes(runsFinished, { status: outcome.status }), 1)
      yield* signals.publish({ type: "run", id: run.id })
    })

    /** In a slot that the caller has taken into account; `since` is when the lease was asked for. */
    const begin = (run: StoredRun, since: number) =>
      Effect.suspend(() => {
        const slot: Slot = { epoch: run.epoch, until: ours(since) }
        slots.set(run.id, slot)
        return execute(run).pipe(
          Effect.catchTag("OwnershipLost", () => Effect.logInfo("a run was taken over or cancelled")),
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("a run was interrupted", cause)
          ),
          Effect.ensuring(
            Effect.suspend(() => {
              if (slots.get(run.id) === slot) slots.delete(run.id)
              return awake.open
            })
          ),
          Effect.annotateLogs({ run: run.id }),
          FiberMap.run(running, run.id)
        )
      })

    const beginAll = (runs: ReadonlyArray<StoredRun>, since: number) =>
      Effect.forEach(runs, (run) => begin(run, since), { discard: true })

    const claim = Effect.gen(function* () {
      const limit = free()
      if (limit <= 0) return
      const since = yield* Clock.currentTimeMillis
      yield* beginAll(yield* repo.claim({ ...claimant, limit, perWorkspace: runsPerWorkspace }), since)
    }).pipe(Effect.uninterruptible)

    const takeOver = Effect.gen(function* () {
      const limit = free()
      if (limit <= 0) return
      const since = yield* Clock.currentTimeMillis
      yield* beginAll(yield* repo.takeOver({ ...claimant, limit, maxCrashes }), since)
    }).pipe(Effect.uninterruptible)

    const renew = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
      const held = ids.flatMap((id) => {
        const slot = slots.get(id)
        return slot === undefined ? [] : [{ id, slot }]
      })
      if (held.length === 0) return
      const since = yield* Clock.currentTimeMillis
      const executions = held.map(({ id, slot }) => ({ id, epoch: slot.epoch }))
      const owned = yield* repo.renew(worker, executions, leaseMillis)
      for (const { id, slot } of held) {
        if (owned.has(id)) slot.until = ours(since)
        else if (slots.get(id) === slot) yield* FiberMap.remove(running, id)
      }
    })

    const watch = Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      for (const [id, slot] of slots) if (slot.until <= at) yield* FiberMap.remove(running, id)
    })

    const logged = <A>(what: string, effect: Effect.Effect<A, Unavailable>) =>
      effect.pipe(Effect.catchCause((cause) => Effect.logWarning(what, cause)))

    const wait = Effect.andThen(awake.await, Effect.asVoid(awake.close))
    yield* logged("runs not claimed", claim).pipe(
      Effect.andThen(wait.pipe(Effect.timeoutOption(pollMillis))),
      Effect.forever,
      Effect.forkScoped
    )
    yield* logged("runs not taken over", takeOver).pipe(
      Effect.andThen(Effect.sleep(pollMillis)),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Effect.suspend(() => logged("leases not renewed", renew(Array.from(slots.keys())))).pipe(
      Effect.delay(leaseMillis / 3),
      Effect.forever,
      Effect.forkScoped
    )
    yield* watch.pipe(Effect.delay(watchMillis), Effect.forever, Effect.forkScoped)
    yield* (yield* signals.subscribe).pipe(
      Stream.runForEach((signal) =>
        signal.type === "runs"
          ? awake.open
          : slots.has(signal.id)
            ? logged("a lease was not renewed", renew([signal.id]))
            : Effect.void
      ),
      Effect.forkScoped
    )
    yield* dispatch.attach({
      reserve: () => {
        if (free() <= 0) return false
        reserved++
        return true
      },
      giveBack: () => {
        reserved--
      },
      start: (run) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          reserved--
          return Effect.asVoid(begin(run, at))
        })
    })
  })
)

/** Again and again, until it can be done or the caller is interrupted: which it is when its lease ends. */
const whileOurs = <A, E>(effect: Effect.Effect<A, E | Unavailable>) =>
  Effect.retry(effect, {
    while: (error: E | Unavailable) =>
      typeof error === "object" && error !== null && "_tag" in error && error._tag === "Unavailable",
    schedule: Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])
  }) as Effect.Effect<A, Exclude<E, Unavailable>>
