import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** What may be said in between, from anywhere and without waiting. */
export interface Aside<A> {
  readonly say: (value: A) => void
  /** This is the last: what was on its way is left out, and nothing more is asked for. */
  readonly close: (last: A) => void
}

/**
 * A stream, and what is said in between: `begin` gets the means for it when the stream is read, and its scope is that of
 * the reading. One fiber reads on, one batch ahead at most; who waits for a batch is woken within what brings it, so that
 * one costs neither a race nor a turn of the scheduler.
 */
export const relayed = <A>(
  source: Stream.Stream<A>,
  begin: (aside: Aside<A>) => Effect.Effect<unknown, never, Scope.Scope>
): Stream.Stream<A> =>
  Stream.transformPull(
    source,
    Effect.fnUntraced(function* (pull, scope) {
      const { pump, take, ...aside } = makeRelay<A>()
      yield* Scope.provide(begin(aside), scope)
      yield* Effect.forkIn(pump(pull), scope, { startImmediately: true })
      return take
    })
  )

const makeRelay = <A>() => {
  let held: Array<A> = []
  let ended: Pull.Pull<never> | undefined
  let isClosed = false
  let wake: (() => void) | undefined
  let goOn: (() => void) | undefined

  const tell = () => {
    const call = wake
    wake = undefined
    call?.()
  }
  const taken = (): Pull.Pull<NonEmptyReadonlyArray<A>> | undefined => {
    const [first, ...more] = held
    if (first === undefined) return ended
    held = []
    const call = goOn
    goOn = undefined
    call?.()
    return Effect.succeed([first, ...more])
  }
  const room = Effect.callback<void>((resume) => {
    goOn = () => resume(Effect.void)
  })
  const put = (batch: ReadonlyArray<A>): Effect.Effect<void> => {
    if (isClosed) return Effect.never
    held = held.length === 0 ? [...batch] : [...held, ...batch]
    tell()
    return held.length === 0 ? Effect.void : room
  }
  const end = (exit: Exit.Exit<unknown, Cause.Done>) => {
    ended ??= exit._tag === "Failure" ? Effect.failCause(exit.cause) : Cause.done()
    tell()
  }

  return {
    say: (value: A) => {
      if (isClosed || ended !== undefined) return
      held.push(value)
      tell()
    },
    close: (last: A) => {
      isClosed = true
      held = [last]
      ended = Cause.done()
      tell()
    },
    pump: (pull: Pull.Pull<NonEmptyReadonlyArray<A>>) =>
      Effect.flatMap(pull, put).pipe(
        Effect.forever({ disableYield: true }),
        Effect.onExit((exit) => Effect.sync(() => end(exit)))
      ),
    take: Effect.callback<NonEmptyReadonlyArray<A>, Cause.Done>((resume) => {
      const ready = taken()
      if (ready !== undefined) return resume(ready)
      wake = () => {
        const now = taken()
        if (now !== undefined) resume(now)
      }
    })
  }
}
