import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { RunId } from "../../src/Schemas/Ids.ts"
import { isEnd, NumberedEvent, type RunEvent } from "../../src/Schemas/RunEvent.ts"
import { client, Problem, toProblem, unauthenticated } from "./Client.ts"

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

/** What no further try would change. */
const isFinal = ({ tag }: Problem): boolean =>
  ["NotFound", "Unauthenticated", "Forbidden", "InvalidInput"].includes(tag)

/**
 * Follows a run or a chat turn from behind the event `after` (0: from the beginning) to its end, whatever becomes of
 * connections and nodes meanwhile. Answers how to stop.
 */
export const followRun = (runId: RunId, followed: Followed, after = 0): (() => void) => {
  let last = after
  let isOver = false
  let failures = 0

  const read = Effect.gen(function* () {
    const answer = yield* client.runs.events({
      params: { id: runId },
      headers: last === 0 ? {} : { "last-event-id": last }
    })
    followed.onProblem(undefined)
    if (answer === undefined) {
      isOver = true
      return
    }
    const told = Stream.takeUntil(events(answer.body), ({ event }) => isEnd(event))
    yield* Stream.runForEach(told, (event) =>
      Effect.sync(() => {
        if (isBreak(event.event)) return
        failures = 0
        last = event.id
        isOver = isEnd(event.event)
        followed.onEvent(event)
      })
    )
  })

  const follow = Effect.gen(function* () {
    while (!isOver) {
      yield* Effect.catch(read, (error) =>
        Effect.sync(() => {
          const problem = toProblem(error)
          if (!isFinal(problem)) return
          isOver = true
          followed.onProblem(problem)
          if (problem.tag === "Unauthenticated") unauthenticated()
        })
      )
      if (isOver) break
      followed.onProblem(
        new Problem("Interrupted", "The stream was interrupted. It is being taken up again.")
      )
      yield* Effect.sleep(Math.min(longestPause, firstPause * 2 ** failures))
      failures = Math.min(failures + 1, 5)
    }
    followed.onEnd()
  })

  const fiber = Effect.runFork(follow)
  return () => void Effect.runFork(Fiber.interrupt(fiber))
}
