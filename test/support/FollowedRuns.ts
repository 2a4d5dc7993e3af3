import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import { RunEvents } from "../../src/Services/Engine/RunEvents.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { makeRun } from "./Fixtures.ts"
import { makeTenant } from "./Service.ts"

export const delta = (id: number): NumberedEvent => ({
  id,
  event: { event: "status", data: { status: "responding", delta: `${id}` } }
})

export const completed = {
  status: "COMPLETED",
  output: "o",
  usage: { inputTokens: 1, outputTokens: 1 }
} as const
export const times = { at: new Date(0), firstTokenAt: null }

/** Reads events in a fiber; `seen` grows. */
export const reader = Effect.fnUntraced(function* (stream: Stream.Stream<NumberedEvent>) {
  const seen: Array<NumberedEvent> = []
  const fiber = yield* Effect.forkChild(
    Stream.runForEach(stream, (event) => Effect.sync(() => void seen.push(event))),
    { startImmediately: true }
  )
  return { fiber, seen, ids: () => seen.map(({ id }) => id), code: () => codeOf(seen.at(-1)) }
})
export const codeOf = (event: NumberedEvent | undefined) =>
  event?.event.event === "error" ? event.event.data.code : event?.event.event

/** A run that somebody executes elsewhere. */
export const subject = Effect.gen(function* () {
  const { user, workspaceId } = yield* makeTenant()
  const repo = yield* RunRepo
  const { id } = yield* makeRun(workspaceId)
  yield* repo.claim({ worker: "other", limit: 1, leaseMillis: 1e9, perWorkspace: 8 })
  const execution = { id, worker: "other", epoch: 1 }
  const log = yield* RunEventRepo
  const events = yield* RunEvents
  const follow = (of: RunId, after: number) => events.follow(of, after)
  return { execution, follow, id, log, repo, user, workspaceId }
})

/** Readers of what this store keeps. */
export const eventsOver = (log: RunEventRepo["Service"]) =>
  Effect.map(
    Layer.build(Layer.fresh(RunEvents.layer).pipe(Layer.provide(Layer.succeed(RunEventRepo, log)))),
    Context.get(RunEvents)
  )
