import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type IdKind, idOf } from "../Schemas/Ids.ts"

/**
 * New identifiers: a prefix per kind and a ULID in lower case, so that ids of one process sort in the
 * order in which they were made, also within a millisecond (CONTRACT.md section 2).
 */
export class Ids extends Context.Service<
  Ids,
  { readonly make: <B extends string>(kind: IdKind) => Effect.Effect<B> }
>()("agentd/Services/Ids") {
  static readonly layer = Layer.effect(
    Ids,
    Effect.gen(function* () {
      const random = yield* SecureRandom.SecureRandom
      return Ids.of({
        make: <B extends string>(kind: IdKind) => Effect.map(random.ulid, (ulid) => idOf<B>(kind, ulid))
      })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
