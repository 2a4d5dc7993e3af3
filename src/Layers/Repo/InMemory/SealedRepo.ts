import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SealedSample } from "../../../Schemas/SealedSample.ts"
import { SealedRepo } from "../../../Services/SealedRepo.ts"
import { Store } from "./Store.ts"

/** The texts of a kind by the ids of their rows. */
const endsOf = (
  kind: SealedSample["kind"],
  texts: ReadonlyArray<readonly [id: string, sealed: unknown]>
): ReadonlyArray<SealedSample> => {
  const sealed = texts
    .flatMap(([id, text]) => (typeof text === "string" ? [[id, text] as const] : []))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text)
  return [
    ...sealed.slice(0, 1).map((text) => ({ kind, sealed: text, newest: false })),
    ...sealed.slice(-1).map((text) => ({ kind, sealed: text, newest: true }))
  ]
}

export const layer = Layer.effect(
  SealedRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { connectors, providerKeys } = tables
    return guard(
      SealedRepo.of({
        samples: Effect.sync(() => {
          const stored = Array.from(connectors.values())
          return [
            ...endsOf(
              "provider key",
              Array.from(providerKeys.values(), ({ id, sealedApiKey }) => [id, sealedApiKey])
            ),
            ...endsOf(
              "connector",
              stored.map(({ id, sealedCredential }) => [id, sealedCredential])
            ),
            ...endsOf(
              "connector",
              stored.map(({ id, metadata }) => [id, metadata.headers])
            )
          ]
        })
      })
    )
  })
)
