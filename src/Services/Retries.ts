import * as Context from "effect/Context"
import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import type { Caller } from "../Schemas/Token.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"
import { Ids } from "./Ids.ts"
import { RunRepo } from "./RunRepo.ts"

/** A request that may be one that was sent before. */
export interface Sent {
  readonly caller: Caller
  readonly path: string
  /** All that is asked, as text. */
  readonly request: string
  /** How often it was sent before, as its client counts. */
  readonly count: number
}

/**
 * For how long a request that was sent again is known, in milliseconds: clients of OpenAI wait for an answer for ten minutes,
 * and then for seconds.
 */
export const retryMillis = 11 * 60_000

/** Knows again what clients send again by themselves, with a count and no key (CONTRACT.md section 14). */
export class Retries extends Context.Service<
  Retries,
  {
    /**
     * Which turn answers a request: one that is there (`isBegun`), where the request was sent before and its turn did not end
     * without an answer; else the one to begin by it. Who begins it under another id, or not at all, is not found again.
     * Of two that begin one at the same time one fails: a turn's id is its own. A request that is sent for the first time
     * is another each time, whatever it says; which first one a later one means is the last of this text.
     */
    readonly turnOf: (
      sent: Sent
    ) => Effect.Effect<{ readonly turnId: RunId; readonly isBegun: boolean }, Unavailable>
  }
>()("agentd/Services/Retries") {
  static readonly layer = Layer.effect(
    Retries,
    Effect.gen(function* () {
      const digest = yield* Effect.provide(Digest.Digest, Digest.layerWebCrypto)
      const ids = yield* Ids
      const repo = yield* IdempotencyRepo
      const runs = yield* RunRepo

      const before = Effect.fnUntraced(function* (id: string) {
        const { turnId } = Option.getOrUndefined(yield* repo.find(id)) ?? { turnId: null }
        if (turnId === null) return undefined
        const { status } = Option.getOrUndefined(yield* runs.find(turnId)) ?? { status: null }
        return status === "FAILED" || status === "CANCELLED"
          ? undefined
          : { turnId, isBegun: status !== null }
      })

      return Retries.of({
        turnOf: Effect.fnUntraced(function* ({ caller, count, path, request }) {
          const text = new TextEncoder().encode(JSON.stringify(["retry", caller.id, path, request]))
          const id = Hex.encode(yield* Effect.orDie(digest.digest(Digest.sha256, text)))
          const known = count === 0 ? undefined : yield* before(id)
          const turn = known ?? { turnId: yield* ids.make<RunId>("turn"), isBegun: false }
          const nothing = { answer: null, sealed: null, workspaceId: null }
          yield* repo.replace(
            { ...nothing, id, request: "", userId: caller.id, turnId: turn.turnId },
            retryMillis
          )
          return turn
        })
      })
    })
  )
}
