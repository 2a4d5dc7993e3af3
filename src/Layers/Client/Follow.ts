import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { RunId } from "../../Schemas/Ids.ts"
import { pauseMillis } from "../../Schemas/Pause.ts"
import { RunEvent } from "../../Schemas/RunEvent.ts"
import { ClientError, type Connection, isPassing, said } from "./Connection.ts"

/** How often a stream that breaks is taken up again without a further event, over about a minute and a half. */
const mostTries = 12
const pauses = { first: 500, most: 10_000 }

/** An event as it is framed. */
export interface Told {
  readonly id: number
  readonly event: string
  readonly data: unknown
}

type Body = Stream.Stream<Uint8Array, unknown>

const decode = Schema.decodeUnknownOption(Schema.toCodecJson(RunEvent))

/** What an event says; none of one that this version does not know. */
export const knownOf = ({ data, event }: Told): RunEvent | undefined =>
  Option.getOrUndefined(decode({ data, event }))

/** An end of the stream that is none of the run: the service says to take it up again. */
const isBreak = ({ data, event }: Told): boolean =>
  event === "error" &&
  typeof data === "object" &&
  data !== null &&
  "code" in data &&
  data.code === "unavailable"

const isEnd = ({ event }: Told): boolean => event === "done" || event === "error"

/** What no service of this version tells. */
const strange = () => new ClientError({ error: "the stream holds what is no event of agentd" })

const eventsOf = (body: Body) =>
  body.pipe(
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode()),
    Stream.mapEffect(({ data, event, id }) =>
      Effect.try({
        try: (): Told => ({ id: Number(id ?? 0), event, data: JSON.parse(data) }),
        catch: strange
      })
    )
  )

/** How reading ended: at the end of the run, or because `handle` has said so. */
export type Followed = "over" | "left"

/**
 * Tells each event of a run or turn behind `after` once, in order, until its end or until `handle` answers true. A
 * stream that breaks is taken up again behind the last event, with growing pauses and a bounded number of times.
 * `first` is a stream that is there already; `at` hears of each event's id.
 */
export const follow = Effect.fnUntraced(function* <E, R>(
  { baseUrl, client }: Connection,
  run: () => RunId | undefined,
  how: {
    readonly after: number
    readonly first?: Body
    readonly handle: (told: Told) => Effect.Effect<boolean, E, R>
  }
) {
  let last = how.after
  let tries = 0
  let outcome: Followed | undefined

  const read = (body: Body) =>
    Stream.runForEachWhile(eventsOf(body), (told) =>
      Effect.gen(function* () {
        if (isBreak(told)) return false
        tries = 0
        last = told.id
        const isLeft = yield* how.handle(told)
        if (isLeft) outcome = "left"
        else if (isEnd(told)) outcome = "over"
        return outcome === undefined
      })
    )

  const attempt = Effect.gen(function* () {
    if (how.first !== undefined && tries === 0 && last === how.after) return yield* read(how.first)
    const id = run()
    if (id === undefined) return yield* new ClientError({ error: "the answer broke off before it began" })
    const answer = yield* client.runs.events({ params: { id }, headers: { "last-event-id": last } })
    // Behind the end.
    if (answer === undefined) outcome = "over"
    else yield* read(answer.body)
  })

  while (outcome === undefined) {
    const failed = yield* Effect.match(attempt, { onSuccess: () => undefined, onFailure: (error) => error })
    if (outcome !== undefined) break
    tries++
    const isFinal = failed !== undefined && !isPassing(failed) && !isBroken(failed)
    if (isFinal || tries > mostTries) {
      return yield* said(
        baseUrl,
        Effect.fail(
          failed ?? new ClientError({ error: `the stream of ${baseUrl} breaks off again and again` })
        )
      )
    }
    yield* Effect.sleep(pauseMillis(tries, 0.5, pauses))
  }
  return outcome
})

/** What a body is like that the network has cut. */
const isBroken = (error: unknown): boolean =>
  error instanceof Error && !("error" in error) && error.name !== "SchemaError"
