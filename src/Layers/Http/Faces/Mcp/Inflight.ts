import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Signals } from "../../../../Services/Signals.ts"
import type { RpcId } from "./Messages.ts"

/**
 * Which requests are being answered on this node, by what their client calls them. Whoever takes one back may reach
 * another node: it is said to all of them. A request without a session can't be told from others of its token.
 */
export const make = Effect.gen(function* () {
  const signals = yield* Signals
  const cancels = new Map<string, Effect.Effect<void>>()

  yield* (yield* signals.subscribe).pipe(
    Stream.runForEach((signal) =>
      signal.type === "cancelRequest" ? (cancels.get(signal.request) ?? Effect.void) : Effect.void
    ),
    Effect.forkScoped
  )

  const keyOf = (caller: Caller, session: string, id: RpcId) => JSON.stringify([caller.id, session, id])

  return {
    /** For as long as the scope is open, `cancel` is what taking the request back does. */
    held: (caller: Caller, session: string | undefined, id: RpcId, cancel: Effect.Effect<void>) => {
      if (session === undefined) return Effect.void
      const key = keyOf(caller, session, id)
      return Effect.acquireRelease(
        Effect.sync(() => cancels.set(key, cancel)),
        () =>
          Effect.sync(() => {
            if (cancels.get(key) === cancel) cancels.delete(key)
          })
      )
    },
    cancel: (caller: Caller, session: string | undefined, id: RpcId) =>
      session === undefined
        ? Effect.void
        : signals.publish({ type: "cancelRequest", request: keyOf(caller, session, id) })
  }
})
