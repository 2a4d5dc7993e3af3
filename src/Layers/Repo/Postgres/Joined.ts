import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Unavailable } from "../../../Schemas/Errors.ts"
import type { Database } from "./Database.ts"

/** So many go together at most, and so much of each, in UTF-16 code units: more goes alone, and holds up no other. */
const mostTogether = 64
const mostLength = 64 * 1024

/** One parameter, however many there are, of values that are JSON each. */
export const arrayOf = (texts: ReadonlyArray<string>): string => `[${texts.join(",")}]`

interface Asking<A, B> {
  readonly keyOf?: (item: A) => string
  readonly lengthOf?: (item: A) => number
  readonly together: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B | undefined>, Unavailable>
  readonly alone: (item: A) => Effect.Effect<B, Unavailable>
}

interface Waiting<A, B> {
  readonly item: A
  readonly settle: (exit: Exit.Exit<B | undefined, Unavailable>) => void
}

/**
 * What is asked for while a statement is under way goes together with the next one: one statement, one commit. Nobody
 * waits for others to come: where none is under way one begins at once. Within a transaction each is asked for alone.
 * Those of another `keyOf` have nothing to do with each other.
 *
 * `together` answers in the order of its items; `undefined`, or a defect, for those that are to be asked for alone. One
 * that finds the database away tells all that wait; each waits as long as for a statement of its own (`query`).
 */
export const make = <A, B>(
  { query, sql }: Pick<Database["Service"], "query" | "sql">,
  { alone, keyOf = () => "", lengthOf = () => 0, together }: Asking<A, B>
): Effect.Effect<(item: A) => Effect.Effect<B, Unavailable>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const working = new Map<string, { readonly queue: Array<Waiting<A, B>>; end: () => void }>()

    const next = (queue: Array<Waiting<A, B>>) =>
      Effect.gen(function* () {
        // What is ready in the same turn comes along.
        yield* Effect.yieldNow
        const batch = queue.splice(0, mostTogether)
        if (batch.length > 0)
          settle(queue, batch, yield* Effect.exit(together(batch.map(({ item }) => item))))
      })

    const ask = (waiting: Waiting<A, B>) => {
      const key = keyOf(waiting.item)
      const known = working.get(key)
      if (known !== undefined) {
        known.queue.push(waiting)
        return known.queue
      }
      const queue = [waiting]
      const begun = { queue, end: () => {} }
      working.set(key, begun)
      // In one turn with the look at the queue: who comes later begins anew.
      const isMore = () => {
        if (queue.length === 0) working.delete(key)
        return queue.length > 0
      }
      const fiber = run(Effect.whileLoop({ while: isMore, body: () => next(queue), step: () => {} }))
      begun.end = () => fiber.interruptUnsafe()
      return queue
    }

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const { end, queue } of [...working.values()]) {
          for (const { settle } of queue.splice(0)) settle(Exit.interrupt())
          end()
        }
      })
    )

    return (item) =>
      Effect.contextWith((caller: Context.Context<never>) => {
        const isWithin = Context.getOrUndefined(caller, sql.transactionService) !== undefined
        if (isWithin || lengthOf(item) > mostLength) return alone(item)
        const answer = Effect.callback<B | undefined, Unavailable>((resume) => {
          const waiting: Waiting<A, B> = { item, settle: resume }
          const queue = ask(waiting)
          return Effect.sync(() => {
            const place = queue.indexOf(waiting)
            if (place >= 0) queue.splice(place, 1)
          })
        })
        return Effect.flatMap(query(answer), (given) =>
          given === undefined ? alone(item) : Effect.succeed(given)
        )
      })
  })

/** Tells each of a batch what came of it, and those behind it where the database is away. */
const settle = <A, B>(
  queue: Array<Waiting<A, B>>,
  batch: ReadonlyArray<Waiting<A, B>>,
  exit: Exit.Exit<ReadonlyArray<B | undefined>, Unavailable>
) => {
  const away = Exit.findErrorOption(exit)
  if (Option.isSome(away)) {
    for (const waiting of [...batch, ...queue.splice(0)]) waiting.settle(Exit.fail(away.value))
    return
  }
  const answers = Exit.isSuccess(exit) ? exit.value : []
  for (const [n, waiting] of batch.entries()) waiting.settle(Exit.succeed(answers[n]))
}

/** What is read of workspaces by one statement for all that are asked for while another is under way. */
export const byWorkspace = <A extends { readonly workspaceId: string }>(
  database: Pick<Database["Service"], "query" | "sql">,
  read: (workspaceIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<A>, Unavailable>
): Effect.Effect<(workspaceId: string) => Effect.Effect<ReadonlyArray<A>, Unavailable>, never, Scope.Scope> =>
  make(database, {
    together: (workspaceIds) =>
      Effect.map(read(Array.from(new Set(workspaceIds))), (found) => {
        const of = Map.groupBy(found, ({ workspaceId }) => workspaceId)
        return workspaceIds.map((id) => of.get(id) ?? [])
      }),
    alone: (workspaceId) => read([workspaceId])
  })
