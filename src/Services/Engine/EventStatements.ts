import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import { weightOf } from "../../Schemas/EventWeight.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import type { Appended, EventWrite, RunEventRepo } from "../RunEventRepo.ts"
import { byHalves } from "./Halves.ts"

/** Of one statement; what the last of its executions told is not cut. */
const mostRuns = 500
const mostBytes = 1024 * 1024
/** While one is not answered, others go on. */
const statementsAtOnce = 4

/** What becomes of a write. `away`: it is not known. `broken`: it can't be stored. */
export type Outcome = Appended | "away" | "broken"

/** What one execution tells. */
export interface Source {
  readonly id: RunId
  /** True when it is asked for the first time: what is told first may be waited for. */
  readonly isFirst: () => boolean
  /**
   * All that is not kept yet; none if there is nothing, or if it is written otherwise at the moment. Nothing else of it
   * is written until it is settled, which has to happen.
   */
  readonly begin: Effect.Effect<EventWrite | undefined>
  /** Whether there is still something to be kept. */
  readonly settle: (outcome: Outcome) => Effect.Effect<boolean>
}

interface Begun {
  readonly source: Source
  readonly write: EventWrite
}

/** Of a source that failed with others, with how few it is written next, until it is kept: at last alone. */
const makeCompany = () => {
  const rooms = new WeakMap<Source, number>()
  const of = (source: Source) => rooms.get(source) ?? mostRuns
  return {
    of,
    learn: (source: Source, outcome: Outcome) => {
      if (outcome === "broken") rooms.set(source, 1)
      else if (outcome === "away") rooms.set(source, Math.max(1, of(source) >> 2))
      else rooms.delete(source)
    }
  }
}

/** As many from `next` on as have room; where it stopped. */
const beginSome = Effect.fnUntraced(function* (
  sources: ReadonlyArray<Source>,
  from: number,
  company: ReturnType<typeof makeCompany>
) {
  const begun: Array<Begun> = []
  let [bytes, next, room] = [0, from, mostRuns]
  for (; next < sources.length && bytes < mostBytes; next++) {
    const source = sources[next]
    if (source === undefined) break
    room = Math.min(room, company.of(source))
    if (begun.length >= room) break
    const write = yield* source.begin
    if (write === undefined) continue
    begun.push({ source, write })
    bytes += weightOf(write.batches)
  }
  return { begun, next }
})

export interface Options {
  readonly events: Pick<RunEventRepo["Service"], "append">
  /** A source was settled, and whether there is more of it to be kept. */
  readonly settled: (source: Source, outcome: Outcome, isMore: boolean) => void
}

/**
 * Writes what these sources tell, as many of them in a statement as have room in it. It waits until all statements are
 * under way, at most four of them; of those that were not begun because the store is away, it answers.
 */
export const make = Effect.fnUntraced(function* ({ events, settled }: Options) {
  const scope = yield* Effect.scope
  const statements = yield* Semaphore.make(statementsAtOnce)
  const company = makeCompany()

  const settle = Effect.fnUntraced(function* (begun: ReadonlyArray<Begun>, outcomes: ReadonlyArray<Outcome>) {
    const more = yield* Effect.forEach(begun, ({ source }, n) => source.settle(outcomes[n] ?? "away"))
    begun.forEach(({ source }, n) => {
      const outcome = outcomes[n] ?? "away"
      company.learn(source, outcome)
      settled(source, outcome, more[n] ?? true)
    })
  })

  /** True unless the store is away. */
  const write = (begun: ReadonlyArray<Begun>) => {
    let isThere = true
    const together = (some: ReadonlyArray<Begun>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.exit(restore(events.append(some.map(({ write }) => write)))), (exit) => {
          if (Exit.isSuccess(exit)) return settle(some, exit.value)
          const { cause } = exit
          if (Cause.hasDies(cause)) return Effect.die(Cause.squash(cause))
          isThere = false
          return Effect.andThen(
            settle(
              some,
              some.map(() => "away")
            ),
            Effect.annotateLogs(Effect.logDebug("events not kept yet", cause), { runs: some.length })
          )
        })
      )
    const toBlame = (one: Begun, defect: unknown) =>
      Effect.annotateLogs(Effect.logError("events can't be kept", Cause.die(defect)), {
        runId: one.source.id
      }).pipe(Effect.andThen(settle([one], ["broken"])))
    return Effect.map(byHalves(begun, together, toBlame), () => isThere)
  }

  return (sources: ReadonlyArray<Source>): Effect.Effect<ReadonlyArray<Source>> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        let isAway = false
        let next = 0
        while (next < sources.length) {
          yield* restore(statements.take(1))
          const some = isAway ? { begun: [], next } : yield* beginSome(sources, next, company)
          if (some.begun.length === 0) yield* statements.release(1)
          else {
            yield* write(some.begun).pipe(
              Effect.tap((isThere) =>
                Effect.sync(() => {
                  isAway ||= !isThere
                })
              ),
              Effect.ensuring(statements.release(1)),
              Effect.forkIn(scope)
            )
          }
          if (isAway) return sources.slice(some.next)
          next = some.next
        }
        return []
      })
    )
})
