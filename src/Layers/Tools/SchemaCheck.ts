import { createHash } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { cut } from "../../Schemas/Text.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import { SchemaCheck } from "../../Services/SchemaCheck.ts"
import type { Problem } from "./SchemaCheck/Problems.ts"
import * as Thread from "./SchemaCheck/Thread.ts"

/** By the clock on the wall: a machine that pauses gets a second try with more time. */
export const LimitsMillis = Context.Reference<Iterable<number>>(
  "agentd/Layers/Tools/SchemaCheck/LimitsMillis",
  {
    defaultValue: () => [100, 500]
  }
)
const refusedMillis = 600_000
const maximumRefused = 10_000
const maximumTold = 10

const exceeded = { outcome: "exceeded" } as const

/**
 * See `SchemaCheck`. Checks run in a thread of their own, and never hold this one.
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
    schema: Schema.JsonObject,
    value: Schema.Json
  ) {
    refused.delete(key)
    // Not interrupted: the thread is free again only when it has answered.
    let answer: Thread.Answer = exceeded
    for (const limitMillis of yield* LimitsMillis) {
      if (answer.outcome !== "exceeded") break
      const question = { schema, value, limitMillis }
      answer = yield* Effect.uninterruptible(Effect.promise(() => thread.ask(question)))
    }
    if (answer.outcome === "exceeded") {
      yield* Effect.annotateLogs(Effect.logWarning("a value could not be checked by its schema in time"), {
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

  return SchemaCheck.of({
    check: Effect.fnUntraced(function* ({ name, owner, schema, value }) {
      const key = `${owner} ${createHash("sha256").update(JSON.stringify(schema)).digest("base64")}`
      const checked = yield* inTurn(
        owner,
        Effect.suspend(() => {
          // Asked for here, since those that waited need not be tried when the first has failed.
          const until = refused.get(key)
          if (until === undefined) return evaluate(owner, key, schema, value)
          return Effect.flatMap(monotonicMillis, (at) =>
            at < until ? Effect.succeed(exceeded) : evaluate(owner, key, schema, value)
          )
        })
      )
      if (checked.outcome === "exceeded") return { outcome: "late" }
      if (checked.outcome === "failed") return { outcome: "unusable" }
      if (checked.value.length === 0) return { outcome: "fits" }
      return { outcome: "unfit", error: sentence(name, checked.value) }
    })
  })
})

const sentence = (name: string, found: ReadonlyArray<Problem>): string => {
  const told = found.slice(0, maximumTold).map(({ error, keyword, place }) => {
    const path = place.replace(/^#\/?/u, "").replaceAll("/", ".")
    const problem = keyword === "false" ? "is not allowed" : cut(error.replace(/\.$/u, ""), 300)
    return `${path === "" ? name : cut(path, 200)}: ${problem}`
  })
  return [...new Set(told), ...(found.length > maximumTold ? ["and more"] : [])].join("; ")
}
