import * as Schema from "effect/Schema"

/** A secret as it is stored: the oldest or the newest of its kind, by when its row was made. */
export const SealedSample = Schema.Struct({
  kind: Schema.Literals(["connector", "provider key", "webhook"]),
  sealed: Schema.String,
  newest: Schema.Boolean
})
export type SealedSample = typeof SealedSample.Type

/** Which key has sealed a text (ADR 8); undefined for a text that is not sealed. */
export const keyIdOf = (text: string): string | undefined => /^v\d+\.([0-9a-f]+)\./u.exec(text)?.[1]

/**
 * What keys with these ids can't open of what is stored. Where it is the newest of a kind, the keys are most likely
 * wrong; older ones may have been given up together with their key.
 */
export const unopened = (samples: ReadonlyArray<SealedSample>, keyIds: ReadonlySet<string>) => {
  const strange = samples.filter(({ sealed }) => {
    const id = keyIdOf(sealed)
    return id !== undefined && !keyIds.has(id)
  })
  return {
    newest: strange.find(({ newest }) => newest),
    oldest: strange.find(({ newest }) => !newest)
  }
}
