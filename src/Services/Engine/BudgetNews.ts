import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { WorkspaceId } from "../../Schemas/Ids.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { type Signal, Signals } from "../Signals.ts"

/** The safety net for lost signals, and how what nobody tells of is found: a limit of the time of leases. */
const pollMillis = 2_000
/** For so long after somebody waited all are told of what falls free. */
const rememberMillis = 3 * pollMillis

/** How much was heard: that something changed, and that words may have been lost. */
export interface News {
  readonly heard: number
  readonly lost: number
}

/** What this node hears of the budgets of workspaces, by signals. */
export class BudgetNews extends Context.Service<
  BudgetNews,
  {
    /** What was heard so far, for `mayHave` and `hasNone`. */
    readonly seen: () => News
    /** Whether a workspace that had no budget when `since` was seen may have one now: one was set, or signals were lost. */
    readonly mayHave: (workspaceId: WorkspaceId, since: News) => boolean
    /** The store says that it has none, which it was asked after `since`. */
    readonly hasNone: (workspaceId: WorkspaceId, since: News) => void
    /** Tells that somebody waits, and waits for a word about the workspace since `since`, for 2 s at most. */
    readonly changed: (workspaceId: WorkspaceId, since: News) => Effect.Effect<void>
    /** A call is over. Told to all nodes if somebody waits. */
    readonly freed: (workspaceId: WorkspaceId) => Effect.Effect<void>
  }
>()("agentd/Services/Engine/BudgetNews") {
  static readonly layer = Layer.effect(
    BudgetNews,
    Effect.gen(function* () {
      const signals = yield* Signals
      const known = makeKnown()
      const hear = (signal: Signal) =>
        signal.type === "budget" ? Effect.map(monotonicMillis, (at) => known.hear(signal, at)) : Effect.void
      yield* (yield* signals.subscribe).pipe(Stream.runForEach(hear), Effect.forkScoped)

      return BudgetNews.of({
        ...known,
        changed: Effect.fnUntraced(function* (workspaceId, since) {
          yield* signals.publish({ type: "budget", workspaceId, what: "waits" })
          const latch = Latch.makeUnsafe(false)
          const leave = known.wait(workspaceId, latch)
          // Of what came before the latch was there it is not known whom it was about.
          if (known.seen().heard !== since.heard) latch.openUnsafe()
          yield* Effect.ensuring(Effect.timeoutOption(latch.await, pollMillis), Effect.sync(leave))
        }),
        freed: (workspaceId) =>
          Effect.flatMap(monotonicMillis, (at) =>
            known.isWaitedFor(workspaceId, at)
              ? signals.publish({ type: "budget", workspaceId, what: "freed" })
              : Effect.void
          )
      })
    })
  )
}

type Heard = Extract<Signal, { type: "budget" }>

/** Which workspaces may have a budget, and who waits for calls of which. */
const makeKnown = () => {
  const budgets = new Map<WorkspaceId, number>()
  const waited = new Map<WorkspaceId, number>()
  const waiting = new Map<WorkspaceId, Set<Latch.Latch>>()
  let heard = 0
  let lost = 0

  const wake = (workspaceId: WorkspaceId) => {
    for (const latch of waiting.get(workspaceId) ?? []) latch.openUnsafe()
  }

  return {
    seen: (): News => ({ heard, lost }),
    mayHave: (workspaceId: WorkspaceId, since: News) => lost > since.lost || budgets.has(workspaceId),
    hasNone: (workspaceId: WorkspaceId, since: News) => {
      if ((budgets.get(workspaceId) ?? 0) <= since.heard) budgets.delete(workspaceId)
    },
    wait: (workspaceId: WorkspaceId, latch: Latch.Latch) => {
      const latches = waiting.get(workspaceId) ?? new Set()
      waiting.set(workspaceId, latches.add(latch))
      return () => {
        latches.delete(latch)
        if (latches.size === 0 && waiting.get(workspaceId) === latches) waiting.delete(workspaceId)
      }
    },
    isWaitedFor: (workspaceId: WorkspaceId, at: number) => {
      const until = waited.get(workspaceId)
      if (until !== undefined && until <= at) waited.delete(workspaceId)
      return until !== undefined && until > at
    },
    hear: ({ what, workspaceId }: Heard, at: number) => {
      if (workspaceId === undefined) {
        heard++
        lost++
        for (const id of waiting.keys()) wake(id)
      } else if (what === "waits") waited.set(workspaceId, at + rememberMillis)
      else {
        heard++
        if (what === "set") budgets.set(workspaceId, heard)
        wake(workspaceId)
      }
    }
  }
}
