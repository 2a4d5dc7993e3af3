import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Unavailable } from "../../../Schemas/Errors.ts"

/** So many go together at most, and so much of each, in UTF-16 code units: more goes alone, and holds up no other. */
const mostTogether = 64
const mostLength = 64 * 1024

/** One parameter, however many there are, of values that are JSON each. */
export const arrayOf = (texts: ReadonlyArray<string>): string => `[${texts.join(",")}]`

interface Waiting<A, B> {
  readonly item: A
  readonly settle: (exit: Exit.Exit<B | undefined, Unavailable>) => void
}

/**
 * What is asked for while a statement is under way goes together with the next one: one statement, one commit. Nobody
 * waits for others to come: where none is under way one begins at once. Within a transaction each is asked for alone.
 *
 * `together` answers in the order of its items; `undefined`, or a defect, for those that are to be asked for alone. It
 * waits for nobody's locks on what is asked for. One that finds the database away tells all that wait, so that nobody
 * waits longer than for two statements.
 */
export const make = <A, B>({
  alone,
  lengthOf = () => 0,
  sql,
  together
}: {
  readonly sql: PgClient
  readonly lengthOf?: (item: A) => number
  readonly together: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B | undefined>, Unavailable>
  readonly alone: (item: A) => Effect.Effect<B, Unavailable>
}): Effect.Effect<(item: A) => Effect.Effect<B, Unavailable>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const run = Effect.runForkWith(context)
    let queue: Array<Waiting<A, B>> = []
    let isUnderWay = false

    const next = Effect.gen(function* () {
      // What is ready in the same turn comes along.
      yield* Effect.yieldNow
      const batch = queue.splice(0, mostTogether)
      if (batch.length === 0) return
      const exit = yield* Effect.exit(together(batch.map(({ item }) => item)))
      const away = Exit.findErrorOption(exit)
      if (Option.isSome(away)) {
        for (const { settle } of [...batch, ...queue.splice(0)]) settle(Exit.fail(away.value))
      } else {
        const answers = Exit.isSuccess(exit) ? exit.value : []
        for (const [n, { settle }] of batch.entries()) settle(Exit.succeed(answers[n]))
      }
    })
    const work = Effect.whileLoop({ while: () => queue.length > 0, body: () => next, step: () => {} }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          isUnderWay = false
        })
      )
    )
    const begin = () => {
      if (isUnderWay) return
      isUnderWay = true
      fiber = run(work)
    }
    let fiber: ReturnType<typeof run> | undefined
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        fiber?.interruptUnsafe()
        for (const { settle } of queue.splice(0)) settle(Exit.interrupt())
      })
    )

    return (item) =>
      Effect.contextWith((caller: Context.Context<never>) => {
        const isWithin = Context.getOrUndefined(caller, sql.transactionService) !== undefined
        if (isWithin || lengthOf(item) > mostLength) return alone(item)
        return Effect.flatMap(
          Effect.callback<B | undefined, Unavailable>((resume) => {
            const waiting: Waiting<A, B> = { item, settle: resume }
            queue.push(waiting)
            begin()
            return Effect.sync(() => {
              queue = queue.filter((other) => other !== waiting)
            })
          }),
          (answer) => (answer === undefined ? alone(item) : Effect.succeed(answer))
        )
      })
  })

/** What is read of workspaces by one statement for all that are asked for while another is under way. */
export const byWorkspace = <A extends { readonly workspaceId: string }>(
  sql: PgClient,
  read: (workspaceIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<A>, Unavailable>
): Effect.Effect<(workspaceId: string) => Effect.Effect<ReadonlyArray<A>, Unavailable>, never, Scope.Scope> =>
  make({
    sql,
    together: (workspaceIds) =>
      Effect.map(read(Array.from(new Set(workspaceIds))), (found) => {
        const of = Map.groupBy(found, ({ workspaceId }) => workspaceId)
        return workspaceIds.map((id) => of.get(id) ?? [])
      }),
    alone: (workspaceId) => read([workspaceId])
  })
