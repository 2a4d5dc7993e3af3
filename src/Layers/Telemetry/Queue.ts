import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as HttpBody from "effect/http/HttpBody"
import * as Latch from "effect/Latch"
import type { Batching, Signal } from "../../Schemas/Telemetry.ts"
import * as Losses from "./Losses.ts"
import type { Answer } from "./Post.ts"

/** Together, what waits may be so large, and what is sent at once: in UTF-16 code units of its texts. */
const mostQueued = 16 * 1024 * 1024
const mostSent = 2 * 1024 * 1024

const tries = 5
const firstWaitMillis = 1_000
const longestWaitMillis = 30_000

export interface Queue<Item> {
  /** Never waits and never fails: what has no place is dropped, and counted. */
  readonly push: (item: Item, size: number) => void
  /** Whether the next would have no place: then none has to be made. */
  readonly isFull: () => boolean
  /** Counts one that was not made for that reason. */
  readonly drop: () => void
}

interface Options<Item> {
  readonly signal: Signal
  readonly batching: Batching
  readonly encode: (items: ReadonlyArray<Item>) => HttpBody.HttpBody
  readonly post: (body: HttpBody.HttpBody) => Effect.Effect<Answer>
  /** How long what still waits may be sent when the scope closes. */
  readonly leftMillis: Effect.Effect<number>
}

/**
 * What is to be sent to a collector, in batches, one at a time. However the collector fares, no more is held than the
 * queue and one batch: a batch is tried five times, with growing pauses or the one that the collector asks for, and
 * the newest are dropped meanwhile where the queue is full. When the scope closes, what waits is sent at once, each
 * batch tried once more and up to the first that fails, and the rest is dropped.
 */
export const make = <Item>(options: Options<Item>) =>
  Effect.gen(function* () {
    const { batching, encode, leftMillis, post, signal } = options
    const losses = yield* Losses.make(signal)
    const isDue = Latch.makeUnsafe(false)
    const isClosing = Latch.makeUnsafe(false)
    const waiting = makeWaiting<Item>(batching)
    let sending = 0

    /** Whether the collector has taken it. */
    const send = Effect.fnUntraced(function* (items: ReadonlyArray<Item>) {
      const body = encode(items)
      for (let attempt = 0; ; attempt++) {
        const isLast = isClosing.isOpen() || attempt + 1 === tries
        const answer = yield* post(body)
        yield* losses.tell
        if (answer._tag === "Taken") return true
        if (answer._tag === "Refused" || isLast) {
          losses.count(items.length, answer.reason)
          return false
        }
        const usual = Math.min(firstWaitMillis * 2 ** attempt, longestWaitMillis)
        // One that says `Retry-After: 0` again and again is not asked again and again.
        yield* Effect.timeoutOption(isClosing.await, Math.max(answer.afterMillis ?? 0, usual))
      }
    })

    /** What is a batch, or when closing all; whether there is sense in more. */
    const sendAll = Effect.gen(function* () {
      do {
        const items = waiting.take()
        if (items.length === 0) return true
        sending = items.length
        const isTaken = yield* Effect.catchDefect(send(items), () => {
          losses.count(items.length, "it can't be written")
          return Effect.succeed(true)
        })
        sending = 0
        yield* losses.tell
        if (!isTaken && isClosing.isOpen()) return false
      } while (waiting.isBatch() || isClosing.isOpen())
      return true
    })

    const work = Effect.gen(function* () {
      let goesOn = true
      while (goesOn && !isClosing.isOpen()) {
        yield* Effect.timeoutOption(isDue.await, batching.delayMillis)
        isDue.closeUnsafe()
        goesOn = yield* sendAll
        yield* losses.tell
      }
      if (goesOn) yield* sendAll
    })

    const worker = yield* Effect.forkDetach(Effect.interruptible(work))
    yield* Effect.addFinalizer(
      Effect.fnUntraced(function* () {
        isClosing.openUnsafe()
        isDue.openUnsafe()
        yield* Effect.timeoutOption(Effect.interruptible(Fiber.await(worker)), yield* leftMillis)
        yield* Fiber.interrupt(worker)
        losses.count(waiting.count() + sending, "the service has stopped")
        yield* losses.tell
      })
    )

    const drop = () => losses.count(1, "more was to be sent than the collector has taken")
    const queue: Queue<Item> = {
      isFull: waiting.isFull,
      drop,
      push: (item, size) => {
        if (isClosing.isOpen() || !waiting.add(item, size)) drop()
        else if (waiting.isBatch()) isDue.openUnsafe()
      }
    }
    return queue
  })

const makeWaiting = <Item>({ batch, queue }: Batching) => {
  const most = Math.min(batch, queue)
  let waiting: Array<{ readonly item: Item; readonly size: number }> = []
  let size = 0
  return {
    count: () => waiting.length,
    isFull: () => waiting.length >= queue || size >= mostQueued,
    isBatch: () => waiting.length >= most || size > mostSent,
    /** Whether there was a place for it. */
    add: (item: Item, itemSize: number): boolean => {
      if (waiting.length >= queue || size + itemSize > mostQueued) return false
      waiting.push({ item, size: itemSize })
      size += itemSize
      return true
    },
    /** The oldest, as many as can be sent at once, and one at least if there is any. */
    take: (): ReadonlyArray<Item> => {
      let count = 0
      let taken = 0
      for (const next of waiting) {
        if (count === most || (count > 0 && taken + next.size > mostSent)) break
        count += 1
        taken += next.size
      }
      const items = waiting.slice(0, count).map(({ item }) => item)
      waiting = waiting.slice(count)
      size -= taken
      return items
    }
  }
}
