import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../../../../Schemas/Errors.ts"
import type { StoredRun } from "../../../../Schemas/Run.ts"
import { isEnd, type NumberedEvent } from "../../../../Schemas/RunEvent.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import type { ToolResult } from "../../../../Schemas/Tool.ts"
import type { TurnInput } from "../../../../Schemas/TurnInput.ts"
import { type Chunk, type Decisions, makeTelling } from "../../../../Schemas/UiStream/Chunks.ts"
import type { Answered } from "../../../../Schemas/UiStream/Request.ts"
import { Approvals } from "../../../../Services/Approvals.ts"
import { Runs } from "../../../../Services/Runs.ts"
import type { Piece } from "./Wire.ts"

/** A turn that is told as a message. */
export interface Told {
  readonly caller: Caller
  readonly run: StoredRun
  /** What it was asked beside its conversation. */
  readonly input: TurnInput | null
  /** Of the message that is told; one that the client has already goes on. */
  readonly messageId: string
  /** What the message holds before what this turn tells. */
  readonly before: ReadonlyArray<Chunk>
  /** What the client has just said about calls: all that was told until it was asked about them, it has. */
  readonly answered: ReadonlyArray<Answered>
  readonly events: Stream.Stream<NumberedEvent>
}

/**
 * Tells a turn until it ends, or until people have to decide: then the message is whole for now, as `useChat` has it,
 * and what comes behind their decision comes with the next request.
 */
export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const runs = yield* Runs

  return ({ answered, before, caller, events, input, messageId, run }: Told) =>
    Stream.suspend(() => {
      const ofCaller = new Set(input?.tools.map(({ name }) => name))
      const telling = makeTelling({
        messageId,
        turnId: run.id,
        conversationId: run.turn?.conversationId ?? "",
        agentId: run.agentId,
        isOfCaller: (name) => ofCaller.has(name)
      })
      const takeAll = makeTaking(telling, answered, {
        decisions: Effect.map(
          // Who may no longer see it is cut off by its stream.
          Effect.catchTag(approvals.ofRun(caller, run), "Forbidden", () => Effect.succeed([])),
          (all) => new Map(all.map((approval) => [approval.toolCallId, approval]))
        ),
        results: Effect.map(
          Effect.catchTag(runs.get(caller, run.id), "NotFound", () => Effect.succeed({ steps: [] })),
          ({ steps }) => steps.flatMap((step) => (step.type === "tool" ? [step.result] : []))
        )
      })
      const unavailable = () => Effect.succeed({ chunks: [], isOver: true, isLost: true })

      return Stream.concat(
        Stream.succeed<Piece>({ chunks: [telling.start, ...before], isLost: false }),
        events.pipe(
          Stream.mapArrayEffect((batch) =>
            Effect.map(
              Effect.catchTag(takeAll(batch), "Unavailable", unavailable),
              (taken) => [taken] as const
            )
          ),
          Stream.takeUntil(({ isOver }) => isOver),
          Stream.filter(({ chunks, isLost }) => isLost || chunks.length > 0)
        )
      )
    })
})

/** What is known of a turn beside its events, read when it is needed. */
interface Known {
  readonly decisions: Effect.Effect<Decisions, Unavailable>
  readonly results: Effect.Effect<ReadonlyArray<ToolResult>, Unavailable>
}

const makeTaking = (
  telling: ReturnType<typeof makeTelling>,
  answered: ReadonlyArray<Answered>,
  known: Known
) => {
  /** What the client has said, as long as the event that asked for it was not read. */
  let unheard: Map<string, Answered> | undefined
  let decisions: Decisions = new Map()

  /** Of what the client has said, that which is of this turn. */
  const hear = Effect.gen(function* () {
    unheard = new Map()
    if (answered.length === 0) return unheard
    decisions = yield* known.decisions
    const asked = new Set<string>(Array.from(decisions.values(), ({ id }) => id))
    for (const answer of answered) if (asked.has(answer.approvalId)) unheard.set(answer.approvalId, answer)
    return unheard
  })

  /** What somebody else was faster to decide. */
  const corrected = (answer: Answered | undefined): ReadonlyArray<Chunk> => {
    const approval = Array.from(decisions.values()).find(({ id }) => id === answer?.approvalId)
    if (answer === undefined || approval === undefined || approval.status === "PENDING") return []
    const isApproved = approval.status === "APPROVED"
    return isApproved === answer.approved ? [] : [telling.decided(approval.id, isApproved, approval.reason)]
  }

  const takeOne = Effect.fnUntraced(function* (told: NumberedEvent) {
    const { data, event } = told.event
    const silent = unheard ?? (yield* hear)
    const wasSilent = silent.size > 0
    if (event !== "status" || data.status !== "waiting_approval") {
      const isOver = isEnd(told.event)
      const isLost = event === "error" && data.code === "unavailable"
      const chunks = telling.take(told, decisions)
      return { chunks: isLost || (wasSilent && !isOver) ? [] : chunks, isOver, isLost }
    }
    decisions = yield* known.decisions
    const asking = telling.take(told, decisions)
    const chunks = wasSilent ? corrected(silent.get(data.approvalId)) : asking
    silent.delete(data.approvalId)
    if (silent.size > 0 || !telling.isWaiting(decisions)) return { chunks, isOver: false, isLost: false }
    // What was done beside the calls that wait has its events behind theirs.
    const done = (yield* known.results).flatMap((result) => telling.result(result, decisions))
    return { chunks: [...chunks, ...done, ...telling.pause()], isOver: true, isLost: false }
  })

  return Effect.fnUntraced(function* (batch: ReadonlyArray<NumberedEvent>) {
    const chunks: Array<Chunk> = []
    for (const told of batch) {
      const taken = yield* takeOne(told)
      chunks.push(...taken.chunks)
      if (taken.isOver) return { chunks, isOver: true, isLost: taken.isLost }
    }
    return { chunks, isOver: false, isLost: false }
  })
}
