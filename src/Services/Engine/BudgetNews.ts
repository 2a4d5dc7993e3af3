import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { WorkspaceId } from "../../Schemas/Ids.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import * as Metrics from "../Metrics.ts"
import { type Signal, Signals } from "../Signals.ts"

/** The safety net for lost signals, and how what nobody tells of is found: a limit of the time of leases. */
const pollMillis = 2_000
/** For so long after somebody waited all are told of what falls free. */
const rememberMillis = 3 * pollMillis
/**
 * How many of those who wait here ask at once when a call is over, and when a budget was set: each that is answered has
 * the next one ask (`pass`). All at once would ask in turns for what most of them do not get.
 */
const afterCall = 2
const afterChange = 8
/** Of so many that wait for a word one looks by itself after each poll; those behind them after longer. */
const lookingOften = 4
const mostPolls = 15
const mostLines = 1_000

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
    /**
     * Tells that somebody waits, and waits until it is his turn to ask again: those who wait longest are the first when
     * a call is over or a budget was set. Without any word for 2 s, and up to 30 s where many wait before him.
     */
    readonly changed: (workspaceId: WorkspaceId) => Effect.Effect<void>
    /** Who has waited had another answer than to wait: the next one may ask. */
    readonly pass: (workspaceId: WorkspaceId) => void
    /** A call is over. Told to all nodes if somebody waits. */
    readonly freed: (workspaceId: WorkspaceId) => Effect.Effect<void>
  }
>()("agentd/Services/Engine/BudgetNews") {
  static readonly layer = Layer.effect(
    BudgetNews,
    Effect.gen(function* () {
      const signals = yield* Signals
      const known = makeKnown()
      let waiting = 0
      yield* Metrics.observe(Metrics.budgetWaiting, {}, () => waiting)
      const hear = (signal: Signal) =>
        signal.type === "budget" ? Effect.map(monotonicMillis, (at) => known.hear(signal, at)) : Effect.void
      yield* (yield* signals.subscribe).pipe(Stream.runForEach(hear), Effect.forkScoped)

      return BudgetNews.of({
        ...known,
        changed: Effect.fnUntraced(function* (workspaceId) {
          const at = yield* monotonicMillis
          if (known.isToBeTold(workspaceId, at)) {
            yield* signals.publish({ type: "budget", workspaceId, what: "waits" })
          }
          const turn = Latch.makeUnsafe(false)
          const { before, leave } = known.wait(workspaceId, turn, at)
          const polls = Math.min(mostPolls, 1 + Math.floor(before / lookingOften))
          const turned = Effect.timeoutOption(turn.await, polls * pollMillis).pipe(
            Effect.onInterrupt(() => Effect.sync(() => leave({ passes: true }))),
            Effect.andThen(Effect.sync(() => leave({ passes: false })))
          )
          yield* Effect.acquireUseRelease(
            Effect.sync(() => waiting++),
            () => turned,
            () => Effect.sync(() => waiting--)
          )
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

/** Who waits for a workspace, the longest first; how many more may ask at once; when it was told, and last used. */
interface Line {
  readonly latches: Set<Latch.Latch>
  more: number
  toldAt: number
  usedAt: number
}

/** Which workspaces may have a budget, and who waits for calls of which. */
const makeKnown = () => {
  const budgets = new Map<WorkspaceId, number>()
  const waited = new Map<WorkspaceId, number>()
  const lines = new Map<WorkspaceId, Line>()
  let heard = 0
  let lost = 0

  const lineOf = (workspaceId: WorkspaceId, at: number): Line => {
    const known = lines.get(workspaceId)
    if (known !== undefined) {
      known.usedAt = at
      return known
    }
    if (lines.size >= mostLines) {
      for (const [id, { latches, usedAt }] of lines) {
        if (latches.size === 0 && usedAt < at - rememberMillis) lines.delete(id)
      }
    }
    const line = { latches: new Set<Latch.Latch>(), more: 0, toldAt: Number.NEGATIVE_INFINITY, usedAt: at }
    lines.set(workspaceId, line)
    return line
  }

  /** Whoever asks just now hears of it too: what it missed is kept for its next turn. */
  const wake = (line: Line | undefined, most: number, keeps: boolean) => {
    if (line === undefined) return
    let left = most
    for (const latch of line.latches) {
      if (left === 0) break
      left--
      line.latches.delete(latch)
      latch.openUnsafe()
    }
    if (keeps) line.more = Math.min(afterChange, line.more + left)
  }
  const pass = (workspaceId: WorkspaceId) => wake(lines.get(workspaceId), 1, false)

  return {
    pass,
    seen: (): News => ({ heard, lost }),
    mayHave: (workspaceId: WorkspaceId, since: News) => lost > since.lost || budgets.has(workspaceId),
    hasNone: (workspaceId: WorkspaceId, since: News) => {
      if ((budgets.get(workspaceId) ?? 0) <= since.heard) budgets.delete(workspaceId)
    },
    /** Whether others are to be told that somebody waits here: once in each poll. */
    isToBeTold: (workspaceId: WorkspaceId, at: number) => {
      const line = lineOf(workspaceId, at)
      if (line.toldAt > at - pollMillis) return false
      line.toldAt = at
      return true
    },
    wait: (workspaceId: WorkspaceId, turn: Latch.Latch, at: number) => {
      const line = lineOf(workspaceId, at)
      const before = line.latches.size
      if (line.more > 0) {
        line.more--
        turn.openUnsafe()
      } else line.latches.add(turn)
      return {
        before,
        /** Who leaves on his turn passes it on. */
        leave: ({ passes }: { readonly passes: boolean }) => {
          if (!line.latches.delete(turn) && passes) pass(workspaceId)
        }
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
        for (const line of lines.values()) wake(line, afterChange, true)
      } else if (what === "waits") waited.set(workspaceId, at + rememberMillis)
      else {
        heard++
        if (what === "set") budgets.set(workspaceId, heard)
        wake(lines.get(workspaceId), what === "set" ? afterChange : afterCall, true)
      }
    }
  }
}
