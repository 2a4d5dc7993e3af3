import { createHash } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { cut } from "../../Schemas/Text.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import { ToolError } from "../../Services/ToolSource.ts"
import type { Problem } from "./Arguments/Problems.ts"
import * as Thread from "./Arguments/Thread.ts"

/** By the clock on the wall: a machine that pauses gets a second try with more time. */
export const LimitsMillis = Context.Reference<Iterable<number>>(
  "agentd/Layers/Tools/Arguments/LimitsMillis",
  {
    defaultValue: () => [100, 500]
  }
)
const refusedMillis = 600_000
const maximumRefused = 10_000
const maximumTold = 10

const exceeded = { outcome: "exceeded" } as const

/**
 * Checks the arguments of a call against the JSON Schema of its tool, so that no server is asked for what
 * it has said that it does not take. Schemas come from foreign servers, and tell how long they take: checks
 * run in a thread of their own, and never hold this one. One that takes longer than 500 ms or overflows the
 * stack fails, as do all by this schema of this owner for 10 minutes, without a try; one that can't be
 * evaluated (a reference to nothing, a pattern that is none) asks for an object and no more.
 */
export const make = Effect.gen(function* () {
  const thread = yield* Thread.make
  /** The thread can't do more. */
  const oneAtATime = yield* Semaphore.make(1)
  /** Of each owner one check waits for the thread, and its others for that: nobody can fill the queue. */
  const lanes = new Map<string, { readonly lock: Semaphore.Semaphore; users: number }>()
  /** Until when the calls by a schema that took too long are refused. */
  const refused = new Map<string, number>()

  const evaluate = Effect.fnUntraced(function* (
    owner: string,
    key: string,
    parameters: Schema.JsonObject,
    argument: Schema.JsonObject
  ) {
    refused.delete(key)
    // Not interrupted: the thread is free again only when it has answered.
    let answer: Thread.Answer = exceeded
    for (const limitMillis of yield* LimitsMillis) {
      if (answer.outcome !== "exceeded") break
      const question = { parameters, argument, limitMillis }
      answer = yield* Effect.uninterruptible(Effect.promise(() => thread.ask(question)))
    }
    if (answer.outcome === "exceeded") {
      yield* Effect.annotateLogs(Effect.logWarning("the arguments of a call could not be checked in time"), {
        owner
      })
      const [oldest] = refused.keys()
      if (oldest !== undefined && refused.size >= maximumRefused) refused.delete(oldest)
      refused.set(key, (yield* monotonicMillis) + refusedMillis)
    }
    return answer
  })

  const inTurn = <A>(owner: string, check: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const lane = lanes.get(owner) ?? { lock: Semaphore.makeUnsafe(1), users: 0 }
        lane.users++
        lanes.set(owner, lane)
        return lane
      }),
      ({ lock }) => lock.withPermit(oneAtATime.withPermit(check)),
      (lane) => Effect.sync(() => --lane.users === 0 && lanes.delete(owner))
    )

  return Effect.fnUntraced(function* (
    /** Whose schema it is: what is refused to one owner is not to another. */
    owner: string,
    parameters: Schema.JsonObject,
    argument: Schema.Json
  ): Effect.fn.Return<Schema.JsonObject, ToolError> {
    if (!isObject(argument)) return yield* new ToolError({ error: "arguments: must be a JSON object" })
    const key = `${owner} ${createHash("sha256").update(JSON.stringify(parameters)).digest("base64")}`
    const checked = yield* inTurn(
      owner,
      Effect.suspend(() => {
        // Asked for here, since those that waited need not be tried when the first has failed.
        const until = refused.get(key)
        if (until === undefined) return evaluate(owner, key, parameters, argument)
        return Effect.flatMap(monotonicMillis, (at) =>
          at < until ? Effect.succeed(exceeded) : evaluate(owner, key, parameters, argument)
        )
      })
    )
    if (checked.outcome === "exceeded") {
      return yield* new ToolError({ error: "arguments: could not be checked in time" })
    }
    if (checked.outcome === "failed" || checked.value.length === 0) return argument
    return yield* new ToolError({ error: sentence(checked.value) })
  })
})

const isObject = (value: Schema.Json): value is Schema.JsonObject =>
  Predicate.isObject(value) && !Array.isArray(value)

const sentence = (found: ReadonlyArray<Problem>): string => {
  const told = found.slice(0, maximumTold).map(({ error, keyword, place }) => {
    const path = place.replace(/^#\/?/u, "").replaceAll("/", ".")
    const problem = keyword === "false" ? "is not allowed" : cut(error.replace(/\.$/u, ""), 300)
    return `${path === "" ? "arguments" : cut(path, 200)}: ${problem}`
  })
  return [...new Set(told), ...(found.length > maximumTold ? ["and more"] : [])].join("; ")
}
