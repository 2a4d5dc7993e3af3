import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import {
  ask,
  begins,
  makeModel,
  makeServer,
  type Protocol,
  protocols,
  textChunk
} from "../../support/Models.ts"
import { eventually } from "../../support/Until.ts"

const chunkBytes = 65_536
const mebibyte = 1024 * 1024

/** Sends as fast as it is read, without ever waiting for anything, and tells how much of it was read. */
const makeFlood = (first: string, again: string, most = 64 * mebibyte) => {
  const chunk = new TextEncoder().encode(again.repeat(Math.ceil(chunkBytes / again.length)))
  let sent = 0
  const fetch = async () => {
    const start = new TextEncoder().encode(first)
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(start),
        pull: (controller) => {
          if (sent >= most) return controller.close()
          sent += chunk.byteLength
          controller.enqueue(chunk)
        }
      },
      { highWaterMark: 0 }
    )
    return new Response(body, { headers: { "content-type": "text/event-stream" } })
  }
  return { fetch: fetch as typeof globalThis.fetch, sent: () => sent }
}

/** How much was read at most between two turns of the event loop. */
const watchTurns = (sent: () => number) => {
  let [before, most] = [0, 0]
  let isOver = false
  const turn = () => {
    most = Math.max(most, sent() - before)
    before = sent()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    most = Math.max(most, sent() - before)
    return most
  }
}

const empty: Readonly<Record<Protocol, string>> = {
  openai: 'data: {"choices":[{"index":0,"delta":{}}]}\n\n',
  "openai-compatible": 'data: {"choices":[{"index":0,"delta":{"content":"","reasoning_content":""}}]}\n\n',
  anthropic: 'event: ping\ndata: {"type":"ping"}\n\n',
  google: 'data: {"candidates":[{"content":{"role":"model","parts":[]},"index":0}]}\n\n'
}

describe.each(protocols)("a flood of %s", (protocol) => {
  const nothings: ReadonlyArray<readonly [what: string, again: string]> = [
    ["empty pieces", empty[protocol]],
    ["comments", ":\n\n"]
  ]
  it.live.each(nothings)(
    "that is nothing but %s ends soon, and others have their turns meanwhile",
    ([, again]) =>
      Effect.gen(function* () {
        const { fetch, sent } = makeFlood("", again)
        const stop = watchTurns(sent)
        const told = yield* ask(yield* makeModel(protocol, "http://x.test", 60_000, undefined, { fetch }))
        const most = stop()
        assert.strictEqual(told.reason, "timeout", told.shown)
        assert.include(told.error?.error, "nothing of an answer")
        assert.isAtMost(sent(), 2 * mebibyte)
        assert.isAtMost(most, 4 * chunkBytes)
      })
  )

  it.live("that is text leaves others their turns", () =>
    Effect.gen(function* () {
      const first = textChunk(protocol, "a")
      const again = protocol === "anthropic" ? (first.split("\n\n").at(-2) ?? "") : first.trim()
      const { fetch, sent } = makeFlood(first, `${again}\n\n`, mebibyte)
      const stop = watchTurns(sent)
      const told = yield* ask(yield* makeModel(protocol, "http://x.test", 60_000, undefined, { fetch }))
      const most = stop()
      assert.isAbove(told.text.join("").length, 1000)
      assert.isAtMost(most, 4 * chunkBytes)
    })
  )

  it.effect("that is no more than a trickle of nothing ends when it may no longer be silent", () =>
    Effect.gen(function* () {
      const idleMillis = 60_000
      const open = Promise.withResolvers<ServerResponse>()
      let pieces = 0
      const { url } = yield* makeServer(begins(": ok\n\n", open.resolve))
      const model = yield* makeModel(protocol, url, idleMillis, () => pieces++)
      const asking = yield* Effect.forkChild(ask(model))
      const response = yield* Effect.promise(() => open.promise)
      for (let second = 1; second <= 59; second++) {
        const before = pieces
        response.write(empty[protocol].repeat(10))
        yield* eventually(
          Effect.sync(() => pieces > before),
          "it was heard"
        )
        yield* TestClock.adjust(1000)
        assert.isUndefined(asking.pollUnsafe())
      }
      yield* TestClock.adjust(1000)
      response.write(empty[protocol].repeat(10))
      const told = yield* Fiber.join(asking)
      assert.strictEqual(told.reason, "timeout", told.shown)
      assert.include(told.error?.error, "nothing of an answer")
    })
  )
})
