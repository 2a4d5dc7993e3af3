import { assert, describe, it } from "@effect/vitest"
import { isFresh, observe, type ReplicaLag, staleMillis, unknown } from "../../src/Schemas/ReplicaLag.ts"

type Look = readonly [at: number, written: number, replayed: number]

const known = (...looks: ReadonlyArray<Look>): ReplicaLag =>
  looks.reduce((lag, [at, position, replayed]) => observe(lag, { at, position }, replayed), unknown)

describe("what is known of a replica", () => {
  it("is fresh as of when the primary had not come further than it", () => {
    assert.strictEqual(known([0, 100, 99]).freshAt, null)
    assert.strictEqual(known([0, 100, 100]).freshAt, 0)
    assert.strictEqual(known([0, 100, 90], [250, 200, 150]).freshAt, 0)
    assert.strictEqual(known([0, 100, 90], [250, 200, 150], [500, 300, 300]).freshAt, 500)
  })

  it("of an idle primary is not old", () => {
    assert.isTrue(isFresh(known([0, 100, 100], [5_000, 100, 100]), 5_100, 0))
  })

  it("is too old after a second, and for who has written since", () => {
    const lag = known([1_000, 100, 100])
    assert.isTrue(isFresh(lag, 1_000 + staleMillis, 999))
    assert.isFalse(isFresh(lag, 1_001 + staleMillis, 999))
    assert.isFalse(isFresh(lag, 1_000, 1_000))
    assert.isFalse(isFresh(unknown, 0, -1))
  })

  it("is bounded, and never fresher than it is, however far behind", () => {
    const looks = Array.from({ length: 10_000 }, (_, at): Look => [at, at, 5_000])
    const lag = known(...looks)
    assert.isAtMost(lag.ahead.length, 128)
    assert.strictEqual(lag.freshAt, 5_000)
    const later = observe(lag, { at: 10_000, position: 10_000 }, 7_000)
    assert.isAtMost(later.freshAt ?? 0, 7_000)
    assert.isAtLeast(later.freshAt ?? 0, 5_000)
  })
})
