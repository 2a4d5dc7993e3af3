import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { makeReceivers, type Sent, soon } from "../../support/Receivers.ts"
import { layerAtRest } from "../../support/Service.ts"

const taken = () => new Response(null, { status: 204 })
const never = ({ signal }: Sent) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))

/** A webhook that has answered at once often enough, and what waits for it then. */
const makeQuick = Effect.gen(function* () {
  const subject = yield* makeReceivers
  const { rows, start, tell, webhook } = subject
  const to = yield* webhook()
  for (let n = 0; n < 8; n++) yield* tell(to)
  const { stop } = yield* start
  yield* soon(() => rows.every(({ status }) => status === "delivered"), "delivered")
  const before = subject.state.claims.length
  const more = (count: number) =>
    Effect.forEach(Array.from({ length: count }), () => tell(to), { discard: true })
  const waiting = () => rows.filter(({ status }) => status === "pending")
  return { ...subject, before, more, stop, to, waiting }
})

describe("a sender to a webhook that answers at once", () => {
  it.effect("claims many at once, and attempts four of them at a time", () =>
    Effect.gen(function* () {
      const { before, more, receiver, state, stop, to, waiting } = yield* makeQuick
      let [now, most] = [0, 0]
      receiver.answer = async () => {
        most = Math.max(most, ++now)
        await new Promise((done) => setImmediate(done))
        now--
        return taken()
      }
      yield* more(64)
      yield* soon(() => waiting().length === 0, "all delivered")
      assert.strictEqual(most, 4)
      const claims = state.claims.slice(before)
      assert.deepStrictEqual(claims[0]?.quick?.ids, [to.id])
      assert.isAtMost(state.settled.length, 24)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("gives back what it has not begun when one fails", () =>
    Effect.gen(function* () {
      const { more, receiver, sent, stop, waiting } = yield* makeQuick
      const before = sent.length
      receiver.answer = () => new Response(null, { status: 500 })
      yield* more(32)
      yield* soon(() => sent.length > before, "sent")
      yield* soon(() => waiting().every(({ leasedUntil }) => leasedUntil === 0), "none is leased")
      // Those that were not begun have no attempt.
      const attempts = waiting().reduce((sum, row) => sum + row.attempts, 0)
      assert.strictEqual(attempts, sent.length - before)
      assert.isTrue(waiting().every((row) => row.attempts === row.results.length))
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("gives back what it has not begun within a second", () =>
    Effect.gen(function* () {
      const { more, receiver, sent, stop, waiting } = yield* makeQuick
      const before = sent.length
      receiver.answer = never
      yield* more(20)
      yield* soon(() => sent.length === before + 4, "four sent")
      yield* soon(() => waiting().filter(({ attempts }) => attempts === 1).length === 20, "all claimed")
      yield* TestClock.adjust("1 seconds")
      yield* soon(() => waiting().filter(({ attempts }) => attempts === 0).length === 16, "given back")
      assert.lengthOf(sent, before + 4)
      yield* TestClock.adjust("15 seconds")
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )
})
