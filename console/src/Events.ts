import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { isEnd, NumberedEvent, type RunEvent } from "../../src/Schemas/RunEvent.ts"
import { client, Problem, signIns, toProblem, unauthenticated } from "./Client.ts"

export type { NumberedEvent, RunEvent }

const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(NumberedEvent))

/** The service says something every 15 seconds, if only a comment: three silences are a connection that is dead. */
const silence = "45 seconds"

/** The numbered events of a stream of a chat or a run, as its bytes come in. What it does not know it leaves out. */
export const events = <E>(body: Stream.Stream<Uint8Array, E>) =>
  body.pipe(
    Stream.timeout(silence),
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode()),
    Stream.mapEffect(({ data, event, id }) =>
      Effect.option(
        Effect.flatMap(Effect.try({ try: (): unknown => JSON.parse(data), catch: toProblem }), (data) =>
          decode({ id: Number(id), event: { event, data } })
        )
      )
    ),
    Stream.filter(Option.isSome),
    Stream.map(({ value }) => value)
  )

export interface Followed {
  /** Each event once and in order, also over streams that break. */
  readonly onEvent: (event: NumberedEvent) => void
  /** After `done` or `error`, or when there was nothing behind `after` any more. */
  readonly onEnd: () => void
  /** Why nothing comes in just now; undefined when it does again. It is taken up again by itself. */
  readonly onProblem: (problem: Problem | undefined) => void
}

const firstPause = 500
const longestPause = 10_000

/** The end of a stream that is not the end of what it tells: the node stops, or its database is away (docs/streams.md). */
const isBreak = ({ data, event }: RunEvent): boolean =>
  event === "error" && "code" in data && data.code === "unavailable"

/** A page that nobody has seen for so long gives its connection back: a browser has few, for all of its tabs together. */
const unseen = "20 seconds"

const whenever = (isHidden: boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const look = () => {
      if (document.hidden === isHidden) resume(Effect.void)
    }
    look()
    document.addEventListener("visibilitychange", look)
    return Effect.sync(() => document.removeEventListener("visibilitychange", look))
  })

/** Comes back when the page has been out of sight for long. */
const untilUnseen = Effect.gen(function* () {
  do {
    yield* whenever(true)
    yield* Effect.raceFirst(Effect.sleep(unseen), whenever(false))
  } while (!document.hidden)
})

/** Comes back when somebody has signed in since there had been so many sign-ins. */
const untilSignedIn = (since: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const stop = signIns.subscribe((count) => {
      if (count !== since) resume(Effect.void)
    })
    return Effect.sync(stop)
  })

/** What no further try would change. */
const isFinal = ({ tag }: Problem): boolean =>
  ["NotFound", "Unauthenticated", "Forbidden", "InvalidInput"].includes(tag)

/** A stream that is open already, such as the answer to a message. */
export type Opened = Stream.Stream<Uint8Array, unknown>

/**
 * Follows a run or a chat turn from behind the event `after` (0: from the beginning) to its end, whatever becomes of
 * connections and nodes meanwhile. Answers how to stop.
 */
export const followRun = (runId: RunId, followed: Followed, after = 0): (() => void) =>
  follow(runId, followed, after, undefined)

/**
 * Follows the turn that answers a message, beginning with the stream that came for it. One that breaks before its first
 * event has told which turn it is: that is its end, after a problem.
 */
export const followAnswer = (opened: Opened, followed: Followed): (() => void) =>
  follow(undefined, followed, 0, opened)

const follow = (
  given: RunId | undefined,
  followed: Followed,
  after: number,
  opened: Opened | undefined
): (() => void) => {
  let runId = given
  let begun = opened
  let last = after
  let isOver = false
  let isRefused = false
  let failures = 0

  const open = Effect.gen(function* () {
    if (begun !== undefined) return begun
    if (runId === undefined) return yield* Effect.fail(new Problem("NotFound", "The answer broke off."))
    const headers = last === 0 ? {} : { "last-event-id": last }
    const answer = yield* client.runs.events({ params: { id: runId }, headers })
    return answer?.body
  })

  const read = Effect.gen(function* () {
    const body: Opened | undefined = yield* open
    begun = undefined
    followed.onProblem(undefined)
    if (body === undefined) {
      isOver = true
      return
    }
    const told = Stream.takeUntil(events(body), ({ event }) => isEnd(event))
    yield* Stream.runForEach(told, (event) =>
      Effect.sync(() => {
        if (event.event.event === "conversation") runId = event.event.data.turnId
        if (isBreak(event.event)) return
        failures = 0
        last = event.id
        isOver = isEnd(event.event)
        followed.onEvent(event)
      })
    )
  })

  const toEnd = Effect.gen(function* () {
    while (!isOver) {
      const since = signIns.value
      const whileSeen = runId === undefined ? read : Effect.raceFirst(read, untilUnseen)
      yield* Effect.catch(whileSeen, (error) =>
        Effect.sync(() => {
          const problem = toProblem(error)
          if (!isFinal(problem)) return
          followed.onProblem(problem)
          isRefused = problem.tag === "Unauthenticated"
          isOver = !isRefused
          if (isRefused) unauthenticated()
        })
      )
      if (isRefused) {
        isRefused = false
        yield* untilSignedIn(since)
        followed.onProblem(undefined)
        continue
      }
      if (isOver) break
      if (document.hidden && runId !== undefined) {
        yield* whenever(false)
        continue
      }
      followed.onProblem(
        new Problem("Interrupted", "The stream was interrupted. It is being taken up again.")
      )
      yield* Effect.sleep(Math.min(longestPause, firstPause * 2 ** failures))
      failures = Math.min(failures + 1, 5)
    }
    followed.onEnd()
  })

  const fiber = Effect.runFork(toEnd)
  return () => void Effect.runFork(Fiber.interrupt(fiber))
}
