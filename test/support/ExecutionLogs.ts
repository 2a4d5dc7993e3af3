import * as Effect from "effect/Effect"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { JournalStep } from "../../src/Schemas/Journal.ts"
import { type EventBatch, nothingTold, type RunEvent, type Told } from "../../src/Schemas/RunEvent.ts"
import * as ExecutionLog from "../../src/Services/Engine/ExecutionLog.ts"
import * as Flusher from "../../src/Services/Engine/Flusher.ts"

export const thinking: RunEvent = { event: "status", data: { status: "thinking" } }
export const says = (delta: string): RunEvent => ({ event: "status", data: { status: "responding", delta } })
export const call: RunEvent = { event: "tool_call", data: { id: "c", name: "t", arguments: {} } }
export const asked: JournalStep = {
  type: "model",
  text: "",
  toolCalls: [],
  usage: { inputTokens: 3, outputTokens: 4 }
}
export const away = new Unavailable({ error: "away" })

export const idsOf = (batches: ReadonlyArray<EventBatch>) => batches.map((batch) => batch.map(({ id }) => id))

const never = () => Effect.die(new Error("not asked in this test"))

/** A log over a store that the test rules, with what was written and told. */
export const subject = Effect.fnUntraced(function* (told: Told = nothingTold) {
  const appended: Array<ReadonlyArray<ReadonlyArray<number>>> = []
  const heard: Array<number> = []
  const truncated: Array<readonly [number, number]> = []
  const store = { fails: false, isWatched: false, isOurs: true }
  let kept = 0
  const id = "run_1" as RunId
  const flusher = yield* Flusher.make({
    events: {
      append: (writes) =>
        Effect.suspend(() => {
          if (store.fails) return Effect.fail(away)
          if (store.isOurs) for (const { batches } of writes) appended.push(idsOf(batches))
          return Effect.succeed(writes.map(() => (store.isOurs ? "kept" : "lost")))
        })
    },
    kept: () => Effect.void,
    isWatched: () => Effect.sync(() => store.isWatched)
  })
  const log = yield* ExecutionLog.open({
    execution: { id, worker: "node", epoch: 1 },
    told,
    flusher,
    events: {
      truncate: (_, from, to) =>
        Effect.sync(() => {
          truncated.push([from, to])
          return store.isOurs
        })
    },
    journals: {
      steps: never,
      progress: never,
      times: never,
      record: (_execution, _index, _step, batches = []) =>
        Effect.sync(() => {
          appended.push(idsOf(batches))
          return store.isOurs
        })
    },
    listen: ({ id }) => Effect.sync(() => void heard.push(id)),
    kept: Effect.sync(() => void kept++)
  })
  const flushing = yield* Effect.forkChild(log.flushing)
  /** What the next write takes with it. */
  const rest = Effect.gen(function* () {
    let taken: ReadonlyArray<ReadonlyArray<number>> = []
    yield* log.write((batches) =>
      Effect.sync(() => {
        taken = idsOf(batches)
        return true
      })
    )
    return taken
  })
  return { appended, flushing, keeps: () => kept, log, rest, store, heard, truncated }
})
