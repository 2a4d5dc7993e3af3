import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { type Client, ClientError, type Connection } from "../../../src/Layers/Client/Connection.ts"
import { follow, type Told } from "../../../src/Layers/Client/Follow.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { RunId } from "../../../src/Schemas/Ids.ts"

const id = "run_1" as RunId

const frame = (n: number, event: string, data: object) =>
  `id: ${n}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`
const delta = (n: number) => frame(n, "status", { status: "responding", delta: `${n}` })
const done = (n: number) =>
  frame(n, "done", { runId: id, output: "", usage: { inputTokens: 0, outputTokens: 0 } })
const stopping = (n: number) => frame(n, "error", { error: "the service is stopping", code: "unavailable" })

/** A service whose streams are these, one for each time that somebody asks, the last ever after. */
const serving = (...answers: ReadonlyArray<string | undefined | Error>) => {
  const asked: Array<number> = []
  const events = ({ headers }: { readonly headers: { readonly "last-event-id"?: number } }) =>
    Effect.suspend(() => {
      const answer = answers[Math.min(asked.push(headers["last-event-id"] ?? 0), answers.length) - 1]
      if (answer instanceof Error) return Effect.fail(answer)
      const body = Stream.succeed(new TextEncoder().encode(answer ?? ""))
      return Effect.succeed(answer === undefined ? undefined : { headers: {}, body })
    })
  const client = { runs: { events } } as unknown as Client
  const connection: Connection = {
    ...{ baseUrl: "http://agentd.test", token: "t", client },
    workspace: Effect.fail(new ClientError({ error: "none" }))
  }
  const seen: Array<number> = []
  const read = Effect.fnUntraced(function* (after = 0, isLast: (told: Told) => boolean = () => false) {
    const handle = (told: Told) =>
      Effect.sync(() => {
        seen.push(told.id)
        return isLast(told)
      })
    const fiber = yield* Effect.forkChild(Effect.exit(follow(connection, () => id, { after, handle })), {
      startImmediately: true
    })
    yield* TestClock.adjust("5 minutes")
    return yield* Fiber.join(fiber)
  })
  return { asked, read, seen }
}

describe("follow", () => {
  it.effect("tells each event once, whatever breaks in between", () =>
    Effect.gen(function* () {
      const { asked, read, seen } = serving(
        delta(1) + delta(2),
        new Unavailable({ error: "away" }),
        delta(3) + stopping(3),
        done(4)
      )
      assert.strictEqual((yield* read())._tag, "Success")
      assert.deepStrictEqual(seen, [1, 2, 3, 4])
      assert.deepStrictEqual(asked, [0, 2, 2, 3])
    })
  )

  it.effect("says in a sentence that what is told is no event of a service", () =>
    Effect.gen(function* () {
      const { read } = serving("id: 1\nevent: status\ndata: <html>\n\n")
      const exit = yield* read()
      assert.isTrue(Exit.isFailure(exit) && !Cause.hasDies(exit.cause), String(exit))
    })
  )

  it.effect("is over behind the end", () =>
    Effect.gen(function* () {
      const { asked, read, seen } = serving(undefined)
      assert.strictEqual((yield* read(9))._tag, "Success")
      assert.deepStrictEqual([asked, seen], [[9], []])
    })
  )

  it.effect("gives up when nothing comes any more, and at once what will not get better", () =>
    Effect.gen(function* () {
      const silent = serving("")
      assert.strictEqual((yield* silent.read())._tag, "Failure")
      assert.strictEqual(silent.asked.length, 13)
      const refused = serving(new ClientError({ error: "no" }))
      assert.strictEqual((yield* refused.read())._tag, "Failure")
      assert.strictEqual(refused.asked.length, 1)
    })
  )

  it.effect("stops where it is told to", () =>
    Effect.gen(function* () {
      const { read, seen } = serving(delta(1) + delta(2) + done(3))
      yield* read(0, (told) => told.id === 2)
      assert.deepStrictEqual(seen, [1, 2])
    })
  )
})
