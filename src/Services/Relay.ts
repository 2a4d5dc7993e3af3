import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** What may be said in between, from anywhere and without waiting. */
export interface Aside<A> {
  readonly say: (value: A) => void
  /** This is the last: what was on its way is left out, and nothing more is asked for. */
  readonly close: (last: A) => void
}

/** What tells without being asked. */
export interface Feed<A> {
  /** What was told and not taken yet, each once. */
  readonly take: () => ReadonlyArray<A>
  /** Who is to be called when there is something to take, and when no more comes; at once, if that is so already. */
  readonly listen: (calls: { readonly told: () => void; readonly ended: () => void }) => void
  /** Nobody takes any more. */
  readonly leave: () => void
}

/** Brings what is read into the relay, as long as the scope is open. */
type Begin<A> = (relay: ReturnType<typeof makeRelay<A>>) => Effect.Effect<unknown, never, Scope.Scope>

/** Of the streams that are relays how they begin: a relay of a relay is one. */
const begins = new WeakMap<object, unknown>()

/**
 * A stream, and what is said in between: `begin` gets the means for it when the stream is read, and its scope is that of
 * the reading; `taken` hears what of the stream is handed on. Where the stream is fed, or a relay itself, who waits is
 * woken within what brings a batch, and nothing is between; else one fiber reads on, one batch ahead at most.
 */
export const relayed = <A, B = never>(
  source: Stream.Stream<A>,
  begin: (aside: Aside<A | B>) => Effect.Effect<unknown, never, Scope.Scope>,
  taken?: (batch: ReadonlyArray<A>) => void
): Stream.Stream<A | B> =>
  made<A | B>((relay) => {
    // What was said is none of the stream.
    if (taken !== undefined) relay.taken(taken as (batch: ReadonlyArray<A | B>) => void)
    return Effect.andThen(begin(relay), beginOf<A | B>(source)(relay))
  })

/** The same, begun and read in this context, whoever reads it. */
export const within = <A>(source: Stream.Stream<A>, context: Context.Context<never>): Stream.Stream<A> =>
  made<A>((relay) =>
    Effect.flatMap(Effect.scope, (scope) =>
      Effect.provideContext(beginOf(source)(relay), Context.add(context, Scope.Scope, scope))
    )
  )

/** A stream of what a feed tells, to its end. Reading it a second time is not supported. */
export const fed = <A>(feed: Feed<A>): Stream.Stream<A> =>
  made<A>((relay) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        relay.feed(feed.take)
        feed.listen({ told: relay.tell, ended: () => relay.end(Exit.void) })
      }),
      () => Effect.sync(feed.leave)
    )
  )

/** A stream, and then the one that follows from the last of it. */
export const continued = <A>(
  source: Stream.Stream<A>,
  next: (last: A | undefined) => Stream.Stream<A>
): Stream.Stream<A> =>
  made<A>(
    Effect.fnUntraced(function* (relay) {
      const isOver = Latch.makeUnsafe(false)
      let last: A | undefined
      const goOn = Effect.suspend(() => {
        relay.drain()
        return beginOf(next(last))(relay)
      })
      yield* Effect.forkScoped(Effect.andThen(isOver.await, goOn))
      yield* beginOf(source)({
        ...relay,
        feed: (take) =>
          relay.feed(() => {
            const batch = take()
            last = batch.at(-1) ?? last
            return batch
          }),
        put: (batch) => {
          last = batch.at(-1) ?? last
          return relay.put(batch)
        },
        end: (exit) => {
          if (Exit.isSuccess(exit) || Pull.isDoneCause(exit.cause)) isOver.openUnsafe()
          else relay.end(exit)
        }
      })
    })
  )

const made = <A>(begin: Begin<A>): Stream.Stream<A> => {
  const stream = Stream.fromChannel(
    Channel.fromTransform((_: Pull.Pull<unknown, unknown, unknown>, scope) => {
      const relay = makeRelay<A>()
      return Effect.as(Scope.provide(begin(relay), scope), relay.handOn)
    })
  )
  begins.set(stream, begin)
  return stream
}

const beginOf = <A>(source: Stream.Stream<A>): Begin<A> =>
  (begins.get(source) as Begin<A> | undefined) ?? pumped(source)

const pumped =
  <A>(source: Stream.Stream<A>): Begin<A> =>
  ({ end, put }) =>
    Effect.flatMap(Stream.toPull(source), (pull) =>
      Effect.flatMap(pull, put).pipe(
        Effect.forever({ disableYield: true }),
        Effect.onExit((exit) => Effect.sync(() => end(exit))),
        Effect.forkScoped({ startImmediately: true })
      )
    )

const makeRelay = <A>() => {
  let said: Array<A> = []
  let held: ReadonlyArray<A> = []
  let fromFeed: (() => ReadonlyArray<A>) | undefined
  let ended: Pull.Pull<never> | undefined
  let isClosed = false
  let wake: (() => void) | undefined
  let goOn: (() => void) | undefined
  const hearers: Array<(batch: ReadonlyArray<A>) => void> = []

  const tell = () => {
    const call = wake
    wake = undefined
    call?.()
  }
  const drain = () => {
    const fed = fromFeed?.() ?? []
    if (fed.length > 0) held = held.length === 0 ? fed : [...held, ...fed]
  }
  const taken = (): Pull.Pull<NonEmptyReadonlyArray<A>> | undefined => {
    drain()
    const batch = held
    held = []
    if (batch.length > 0) for (const hear of hearers) hear(batch)
    const all = said.length === 0 ? batch : [...batch, ...said]
    said = []
    const call = goOn
    goOn = undefined
    call?.()
    return isNonEmpty(all) ? Effect.succeed(all) : ended
  }
  const room = Effect.callback<void>((resume) => {
    goOn = () => resume(Effect.void)
  })

  return {
    tell,
    drain,
    taken: (hear: (batch: ReadonlyArray<A>) => void) => void hearers.push(hear),
    say: (value: A) => {
      if (isClosed || ended !== undefined) return
      said.push(value)
      tell()
    },
    close: (last: A) => {
      isClosed = true
      fromFeed = undefined
      said = []
      held = [last]
      ended = Cause.done()
      tell()
    },
    feed: (take: () => ReadonlyArray<A>) => {
      if (!isClosed) fromFeed = take
    },
    put: (batch: ReadonlyArray<A>): Effect.Effect<void> => {
      if (isClosed) return Effect.never
      held = held.length === 0 ? batch : [...held, ...batch]
      tell()
      return held.length === 0 ? Effect.void : room
    },
    end: (exit: Exit.Exit<unknown, Cause.Done>) => {
      ended ??= exit._tag === "Failure" ? Effect.failCause(exit.cause) : Cause.done()
      tell()
    },
    handOn: Effect.callback<NonEmptyReadonlyArray<A>, Cause.Done>((resume) => {
      const ready = taken()
      if (ready !== undefined) return resume(ready)
      const look = () => {
        const now = taken()
        if (now === undefined) wake = look
        else resume(now)
      }
      wake = look
    })
  }
}

const isNonEmpty = <A>(all: ReadonlyArray<A>): all is NonEmptyReadonlyArray<A> => all.length > 0
