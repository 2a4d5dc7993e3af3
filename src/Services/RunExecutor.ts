import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type { RunId } from "../Schemas/Ids.ts"
import { modelChoice } from "../Schemas/ModelChoice.ts"
import type { StoredRun } from "../Schemas/Run.ts"
import { noUsage, type Usage } from "../Schemas/Usage.ts"
import { AgentLoop } from "./AgentLoop.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { now } from "./CurrentTime.ts"
import { runsFinished } from "./Metrics.ts"
import { RunJournal } from "./RunJournal.ts"
import { type RunOutcome, RunRepo } from "./RunRepo.ts"
import { RunWakeup } from "./RunWakeup.ts"
import { Settings } from "./Settings.ts"
import { ToolSource } from "./ToolSource.ts"

const pollMillis = 2_000

/**
 * Executes runs in the background, at most `runConcurrency` at once: those that were created here at
 * once, those whose worker is gone when its lease has ended. Closing it hands unfinished runs back.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const agents = yield* AgentRepo
    const journals = yield* RunJournal
    const loop = yield* AgentLoop
    const repo = yield* RunRepo
    const settings = yield* Settings
    const toolSource = yield* ToolSource
    const wakeup = yield* RunWakeup
    const { worker } = settings

    // Runs that a former process of this name left behind are nobody's now.
    yield* repo.release(worker)
    yield* Effect.addFinalizer(() =>
      repo
        .release(worker)
        .pipe(Effect.catch((error) => Effect.logWarning("runs not handed back", error.error)))
    )
    const running = yield* FiberMap.make<RunId>()

    const perform = Effect.fn("RunExecutor.perform")(function* (run: StoredRun, spent: Ref.Ref<Usage>) {
      const agent = run.agentId === null ? null : Option.getOrNull(yield* agents.find(run.agentId))
      const result = yield* loop.run({
        request: {
          choice: modelChoice(run.workspaceId, agent, run),
          system: agent?.systemPrompt ?? null,
          messages: [{ role: "user", content: run.prompt }]
        },
        tools: yield* toolSource.tools(run),
        journal: yield* journals.open(run.id, worker),
        emit: (event) => (event.type === "usage" ? Ref.set(spent, event.usage) : Effect.void)
      })
      return { status: "COMPLETED", output: result.answer, usage: result.usage } satisfies RunOutcome
    })

    const outcomeOf = Effect.fnUntraced(function* (run: StoredRun) {
      const spent = yield* Ref.make(noUsage)
      const failed = (error: string) =>
        Effect.map(Ref.get(spent), (usage): RunOutcome => ({ status: "FAILED", error, usage }))
      return yield* perform(run, spent).pipe(
        Effect.catchTags({
          InferenceError: ({ error }) => failed(error),
          LimitExceeded: ({ error }) => failed(error)
        }),
        Effect.catchDefect((defect) =>
          Effect.andThen(Effect.logError("a run failed", Cause.die(defect)), failed("internal error"))
        )
      )
    })

    const execute = (run: StoredRun) =>
      outcomeOf(run).pipe(
        Effect.flatMap((outcome) =>
          Effect.flatMap(now, (at) => repo.finish(run.id, worker, outcome, at)).pipe(
            Effect.tap((kept) =>
              kept
                ? Metric.update(Metric.withAttributes(runsFinished, { status: outcome.status }), 1)
                : Effect.void
            )
          )
        ),
        // The lease ends by itself, and with it this attempt: the run is taken up again.
        Effect.catch((error) => Effect.logWarning("a run was interrupted", error)),
        Effect.ensuring(wakeup.notify),
        Effect.annotateLogs({ run: run.id })
      )

    const claim = Effect.gen(function* () {
      const free = settings.runConcurrency - (yield* FiberMap.size(running))
      if (free <= 0) return
      const runs = yield* repo.claim({ worker, limit: free, leaseMillis: settings.leaseMillis })
      for (const run of runs) yield* FiberMap.run(running, run.id, execute(run))
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("runs not claimed", cause)))

    const renew = Effect.gen(function* () {
      const ids = Array.from(running, ([id]) => id)
      if (ids.length === 0) return
      const owned = yield* repo.renew(worker, ids, settings.leaseMillis)
      for (const id of ids) if (!owned.has(id)) yield* FiberMap.remove(running, id)
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("leases not renewed", cause)))

    yield* wakeup.wait.pipe(
      Effect.timeoutOption(pollMillis),
      (wait) => Effect.forever(Effect.andThen(claim, wait)),
      Effect.forkScoped
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(settings.leaseMillis / 3), renew)))
  })
)
