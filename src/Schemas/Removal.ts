import * as Schema from "effect/Schema"

/** What was deleted, is gone for every reader, and is still there for those that name it. */
export const Removal = Schema.Struct({
  kind: Schema.Literals(["agent", "cronJob", "providerKey", "conversation", "webhook"]),
  id: Schema.String
})
export type Removal = typeof Removal.Type

/** How long a batch of a removal is meant to take: others wait for it where there is one session for all. */
const aimMillis = 50
const fewest = 10
const most = 1_000

export const firstBatch = 100

/** How many rows the next batch takes, after one of `size` rows that took so long: at most twice as many, or half. */
export const nextBatch = (size: number, tookMillis: number): number => {
  const factor = Math.min(2, Math.max(0.5, aimMillis / Math.max(tookMillis, 1)))
  return Math.min(most, Math.max(fewest, Math.round(size * factor)))
}

/** How long others are left alone after a batch: as long as it took, and 10 s at most. */
export const pauseAfter = (tookMillis: number): number => Math.min(10_000, Math.max(20, tookMillis))
