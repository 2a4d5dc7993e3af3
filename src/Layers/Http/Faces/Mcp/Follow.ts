import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Approval } from "../../../../Schemas/Approval.ts"
import type { NotFound, RateLimited, Unavailable } from "../../../../Schemas/Errors.ts"
import { isEnd, type NumberedEvent } from "../../../../Schemas/RunEvent.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { noUsage } from "../../../../Schemas/Usage.ts"
import { monotonicMillis } from "../../../../Services/CurrentTime.ts"
import * as DatabaseWait from "../../../../Services/DatabaseWait.ts"
import { Lifecycle } from "../../../../Services/Lifecycle.ts"
import { relayed } from "../../../../Services/Relay.ts"
import { Runs } from "../../../../Services/Runs.ts"
import { type Heard, whenSilent } from "../../../../Services/Silence.ts"
import * as Asking from "./Asking.ts"
import * as Ends from "./Ends.ts"
import type { Exchange } from "./Exchange.ts"
import * as Inflight from "./Inflight.ts"
import { errorMessage, invalidParams, RpcError, resultMessage } from "./Messages.ts"
import { callState, type Followed } from "./Places.ts"
import * as Progress from "./Progress.ts"
import { sent } from "./Sent.ts"
import * as Workplaces from "./Workplaces.ts"

const silenceMillis = 10_000
const silence = "silence"
type Silence = typeof silence

/** A message on its way to the client; `after` is the event that it tells of, undefined: none. */
export interface Frame {
  readonly message: Schema.JsonObject | undefined
  readonly after?: number
  readonly isLast: boolean
}

/** Whose request is answered by what. */
export interface Following {
  readonly caller: Caller
  /** `X-Workspace-Id`, where it was not looked at yet. */
  readonly header?: string | undefined
  readonly exchange: Exchange
  readonly followed: Followed
}

/**
 * Answers requests out of the events of runs: progress while they work, questions to people, and in the end the result.
 * The last frame answers the request; it has no message where the client is to go on elsewhere. Whether anybody listens
 * changes nothing of a run, but where the protocol says that who goes away takes the request back (since version
 * 2026-07-28).
 */
export const make = Effect.gen(function* () {
  const runs = yield* Runs
  const lifecycle = yield* Lifecycle
  const inflight = yield* Inflight.make
  const asking = yield* Asking.make
  const told = yield* makeTold(asking)
  const workplaces = yield* Workplaces.make

  const cancel = ({ caller, followed }: Following) =>
    runs.cancel(caller, followed.runId).pipe(
      Effect.catch(({ error }) =>
        Effect.annotateLogs(Effect.logDebug("a call that was taken back was not cancelled"), { error })
      ),
      Effect.asVoid,
      DatabaseWait.apart
    )

  const begin = Effect.fnUntraced(function* (following: Following) {
    const { caller, exchange, followed, header } = following
    if (header !== undefined) yield* workplaces.run(caller, header, followed.runId)
    yield* inflight.held(caller, exchange.session, followed.rpcId, cancel(following))
    const events = yield* runs.events(caller, followed.runId, followed.after)
    const asked = followed.after > 0 && exchange.isModern ? yield* told.questions(following) : []
    if (asked.length > 0) return Stream.succeed(inputRequired(followed, followed.after, asked))
    const left = Option.getOrElse(events, () => Stream.succeed(behind(followed)))
    return Stream.flattenIterable(Stream.mapEffect(spoken(left), told.framesOf(following)))
  }, DatabaseWait.together)

  const frames = (following: Following): Stream.Stream<Frame> => {
    const { exchange, followed } = following
    const answer = (error: RpcError): Frame => ({
      message: errorMessage(followed.rpcId, error),
      isLast: true
    })
    let isAnswered = false
    return Stream.unwrap(begin(following)).pipe(
      Stream.catch((error) => Stream.succeed(answer(failureOf(error, followed)))),
      Stream.catchDefect((defect) =>
        Stream.fromEffect(
          Effect.as(Effect.logError("a call of MCP failed", Cause.die(defect)), answer(internalError))
        )
      ),
      Stream.takeUntil(({ isLast }) => isLast),
      Stream.tap(({ isLast }) =>
        Effect.sync(() => {
          isAnswered ||= isLast
        })
      ),
      Stream.onExit((exit) =>
        Effect.flatMap(lifecycle.isDraining, (isDraining) => {
          const isTakenBack = Exit.hasInterrupts(exit) && !isAnswered && !isDraining
          return isTakenBack && exchange.isModern && !followed.ofTask ? cancel(following) : Effect.void
        })
      )
    )
  }

  return { frames, inflight, asking }
})

/** What a client is told of the events of a run. */
const makeTold = Effect.fnUntraced(function* (asking: Effect.Success<typeof Asking.make>) {
  const end = yield* Ends.make

  const questions = Effect.fnUntraced(function* (
    { caller, exchange, followed }: Following,
    approvalId?: string
  ) {
    if (!exchange.elicits) return []
    const waiting = yield* asking.waiting(caller, followed.runId)
    return exchange.isModern ? waiting : waiting.filter(({ id }) => id === approvalId)
  }, DatabaseWait.together)

  const ofEnd = Effect.fnUntraced(function* ({ caller, exchange, followed }: Following) {
    const result = yield* end(caller, exchange, followed)
    const message = result === undefined ? undefined : resultMessage(followed.rpcId, result)
    return [{ message, isLast: true }]
  }, DatabaseWait.together)

  const ofWaiting = Effect.fnUntraced(function* (following: Following, after: number, approvalId: string) {
    const { exchange, followed } = following
    const asked = yield* questions(following, approvalId)
    if (exchange.isModern) return asked.length === 0 ? [] : [inputRequired(followed, after, asked)]
    return asked.map((approval): Frame => {
      const params = {
        ...Asking.question(approval),
        ...(followed.ofTask && Ends.relatedTask(followed.runId))
      }
      return {
        message: { jsonrpc: "2.0", id: approval.id, method: "elicitation/create", params },
        after,
        isLast: false
      }
    })
  })

  const framesOf = (following: Following) => {
    const progress = Progress.make(following.followed.progressToken)
    return Effect.fnUntraced(function* (told: NumberedEvent | Silence) {
      if (told === silence) return [{ message: progress.again(), isLast: false }]
      const { event, id: after } = told
      if (isEnd(event)) return yield* ofEnd(following)
      const message = progress.of(told, yield* monotonicMillis)
      const frames: ReadonlyArray<Frame> = message === undefined ? [] : [{ message, after, isLast: false }]
      return event.event === "status" && event.data.status === "waiting_approval"
        ? [...frames, ...(yield* ofWaiting(following, after, event.data.approvalId))]
        : frames
    })
  }

  return { questions, framesOf }
})

/** With a word wherever nothing was told for long. */
export const spoken = (events: Stream.Stream<NumberedEvent>): Stream.Stream<NumberedEvent | Silence> =>
  Stream.unwrap(
    Effect.clockWith((clock) => {
      let heard: Heard["heard"] | undefined
      const begin = ({ say }: { readonly say: (value: Silence) => void }) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const waiting = whenSilent(clock, silenceMillis, () => say(silence))
            heard = waiting.heard
            return waiting
          }),
          ({ leave }) => Effect.sync(leave)
        )
      return Effect.succeed(relayed<NumberedEvent, Silence>(events, begin, () => heard?.()))
    })
  )

const inputRequired = (
  { kind, rpcId, runId }: Followed,
  after: number,
  approvals: ReadonlyArray<Approval>
): Frame => {
  const result = {
    inputRequests: Asking.inputRequests(approvals),
    requestState: callState.write({ runId, kind, after })
  }
  return { message: resultMessage(rpcId, sent({ isModern: true }, result, "input_required")), isLast: true }
}

/** Of a run that has told all: its end is in the run. */
const behind = ({ after, runId }: Followed): NumberedEvent => ({
  id: after,
  event: { event: "done", data: { runId, output: "", usage: noUsage } }
})

const internalError = new RpcError({ code: -32603, message: "internal error" })

/** A run that is not there, or not for this caller, in one sentence for both; of one that can't be read now, which it is. */
const failureOf = (error: RpcError | NotFound | RateLimited | Unavailable, { runId }: Followed): RpcError => {
  if (error instanceof RpcError) return error
  if (error._tag === "NotFound") return invalidParams(error.error)
  return new RpcError({ code: -32603, message: `${error.error}; ${runId} goes on`, data: { runId } })
}

export type Follow = Effect.Success<typeof make>
