/**
 * One node of `bench/events.ts`: what of the engine room keeps the events of runs, and reads them, over PostgreSQL. It
 * executes the runs that it is given, or reads them, for as long as it is told.
 */
import { setTimeout as sleep } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Remote from "../../src/Layers/Repo/Postgres/Remote.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"
import type { RunEvent } from "../../src/Schemas/RunEvent.ts"
import * as ExecutionLog from "../../src/Services/Engine/ExecutionLog.ts"
import { Flusher } from "../../src/Services/Engine/Flusher.ts"
import { RunEvents } from "../../src/Services/Engine/RunEvents.ts"
import { WatchedRuns } from "../../src/Services/Engine/WatchedRuns.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Lifecycle } from "../../src/Services/Lifecycle.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Settings } from "../../src/Services/Settings.ts"

/** What is told first finds nodes that have done nothing before. */
const coldMillis = 4_000

export interface Order {
  readonly role: "execute" | "read"
  readonly url: string
  readonly worker: string
  readonly ids: ReadonlyArray<string>
  readonly perSecond: number
  readonly millis: number
}

export interface Done {
  readonly cpuMillis: number
  readonly events: number
  /** Of events read, from when they were told. */
  readonly delays: ReadonlyArray<number>
}

const says = (text: string): RunEvent => ({ event: "status", data: { status: "responding", delta: text } })

const execute = Effect.fnUntraced(function* ({ ids, millis, perSecond }: Order) {
  const open = yield* ExecutionLog.make
  const runs = yield* RunRepo
  const logs: Array<ExecutionLog.ExecutionLog> = []
  const like = Option.getOrThrow(yield* runs.find(ids[0] as RunId))
  for (const id of ids) {
    const log = yield* open({ ...like, id: id as RunId }, undefined)
    yield* Effect.forkScoped(log.flushing)
    logs.push(log)
  }
  const until = Date.now() + millis
  let events = 0
  const speak = Effect.fnUntraced(function* (log: ExecutionLog.ExecutionLog, n: number) {
    yield* Effect.sleep((n * 1_000) / perSecond / logs.length)
    while (Date.now() < until) {
      const at = Date.now()
      yield* log.emit(says(`${at} word `))
      events++
      yield* Effect.sleep(Math.max(0, 1_000 / perSecond - (Date.now() - at)))
    }
  })
  yield* Effect.forEach(logs, speak, { concurrency: "unbounded", discard: true })
  return { events, delays: [] }
})

const read = Effect.fnUntraced(function* ({ ids, millis }: Order) {
  const { follow } = yield* RunEvents
  const delays: Array<number> = []
  let events = 0
  let first: number | undefined
  const hear = (event: RunEvent) =>
    Effect.sync(() => {
      if (event.event !== "status" || !("delta" in event.data)) return
      events++
      const at = Number.parseInt(event.data.delta, 10)
      first ??= at
      if (at - first >= coldMillis) delays.push(Date.now() - at)
    })
  for (const id of ids) {
    yield* Effect.forkScoped(Stream.runForEach(follow(id as RunId, 0), ({ event }) => hear(event)))
  }
  yield* Effect.promise(() => sleep(millis))
  return { events, delays }
})

const layerOf = ({ url, worker }: Order) =>
  Layer.mergeAll(RunEvents.layer, Flusher.layer).pipe(
    Layer.provideMerge(WatchedRuns.layer),
    Layer.provideMerge(Lifecycle.layer),
    Layer.provideMerge(Repo.layerPostgres),
    Layer.provideMerge(Remote.layer({ url: Redacted.make(url) })),
    Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, { ...Settings.defaults, worker }), Ids.layer))
  )

process.once("message", (order: Order) => {
  const work = Effect.gen(function* () {
    const before = process.cpuUsage()
    const done = yield* order.role === "execute" ? execute(order) : read(order)
    const { system, user } = process.cpuUsage(before)
    process.send?.({ ...done, cpuMillis: (user + system) / 1_000 } satisfies Done)
  })
  Effect.runPromise(Effect.scoped(work).pipe(Effect.provide(layerOf(order)))).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    }
  )
})
