import type { PgConnection } from "@effect/sql-pg/PgConnection"
import type { PgPool } from "@effect/sql-pg/PgPool"
import * as Effect from "effect/Effect"
import * as Metrics from "../../../Services/Metrics.ts"
import type { Lane } from "./Lanes.ts"

/**
 * The same ways to a session of the pool, and `/metrics` says how many sessions are in use and how many wait for one,
 * as long as the scope is open. A statement costs two numbers more by it. `size` is of both pools; a session of
 * `shared` is in use while anybody uses it.
 */
export const make = Effect.fnUntraced(function* (
  pool: Pick<PgPool, "get" | "use">,
  {
    name,
    shared = pool,
    size
  }: { readonly name: Lane; readonly size: number; readonly shared?: Pick<PgPool, "use"> | undefined }
) {
  let inUse = 0
  let waiting = 0
  yield* Metrics.observe(Metrics.poolInUse, { pool: name }, () => inUse)
  yield* Metrics.observe(Metrics.poolWaiting, { pool: name }, () => waiting)
  yield* Metrics.observe(Metrics.poolSize, { pool: name }, () => size)

  const use: PgPool["use"] = (work) =>
    Effect.suspend(() => {
      // What is counted is known within what is ensured: an interruption leaves nothing behind.
      let state: "new" | "waiting" | "using" = "new"
      return Effect.ensuring(
        Effect.suspend(() => {
          state = "waiting"
          waiting++
          return pool.use((session) => {
            state = "using"
            waiting--
            inUse++
            return work(session)
          })
        }),
        Effect.sync(() => {
          if (state === "waiting") waiting--
          if (state === "using") inUse--
        })
      )
    })

  const { enter, leave } = makeUsers((by) => {
    inUse += by
  })

  const share: PgPool["use"] = (work) =>
    Effect.suspend(() => {
      let entered: PgConnection | undefined
      let isWaiting = true
      waiting++
      return Effect.ensuring(
        shared.use((session) => {
          isWaiting = false
          waiting--
          entered = session
          enter(session)
          return work(session)
        }),
        Effect.sync(() => {
          if (isWaiting) waiting--
          if (entered !== undefined) leave(entered)
        })
      )
    })

  const get: PgPool["get"] = Effect.suspend(() => {
    let isWaiting = false
    const awaited = Effect.ensuring(
      Effect.suspend(() => {
        isWaiting = true
        waiting++
        return pool.get
      }),
      Effect.sync(() => {
        if (isWaiting) waiting--
      })
    )
    const held = Effect.acquireRelease(
      Effect.sync(() => inUse++),
      () => Effect.sync(() => inUse--)
    )
    return Effect.tap(awaited, held)
  })

  return { use, get, share }
})

/** Tells when a session that is shared has its first user, and when the last one has gone. */
const makeUsers = (tell: (by: 1 | -1) => void) => {
  const users = new Map<PgConnection, number>()
  return {
    enter: (session: PgConnection) => {
      const before = users.get(session) ?? 0
      users.set(session, before + 1)
      if (before === 0) tell(1)
    },
    leave: (session: PgConnection) => {
      const left = (users.get(session) ?? 1) - 1
      if (left > 0) users.set(session, left)
      else if (users.delete(session)) tell(-1)
    }
  }
}
