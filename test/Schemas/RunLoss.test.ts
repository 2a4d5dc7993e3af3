import { assert, describe, it } from "@effect/vitest"
import { loseWorker, mayBegin, settleLeases } from "../../src/Schemas/RunLoss.ts"

const held = (losses: number, hasStep = false) => ({ losses, hasStep })
const lossesOf = (runs: ReadonlyArray<{ readonly losses: number }>) => runs.map(({ losses }) => losses)

describe("What is counted when a worker dies", () => {
  const lose = (...runs: ReadonlyArray<ReturnType<typeof held>>) => lossesOf(loseWorker(runs, 4))

  it("finds nobody guilty of what was in flight for the first time, or got on since", () => {
    assert.deepStrictEqual(lose(held(0), held(0), held(3, true)), [1, 1, 1])
    assert.deepStrictEqual(lose(held(0)), [1])
    assert.deepStrictEqual(lose(held(3, true)), [1])
    assert.deepStrictEqual(lose(), [])
  })

  it("makes suspects of those that were in flight twice, and counts no more while there are several", () => {
    assert.deepStrictEqual(lose(held(1), held(1), held(0), held(1, true)), [2, 2, 1, 1])
    assert.deepStrictEqual(lose(held(2), held(1), held(3)), [2, 2, 3])
  })

  it("counts the only one that may be guilty", () => {
    for (const losses of [1, 2, 3]) {
      assert.deepStrictEqual(lose(held(0), held(losses), held(3, true)), [1, losses + 1, 1])
    }
  })

  it("gives no run up that is not the only one that may be guilty", () => {
    for (const maxCrashes of [2, 3, 4]) {
      const runs = [held(maxCrashes - 1), held(maxCrashes - 1)]
      for (const losses of lossesOf(loseWorker(runs, maxCrashes))) assert.isBelow(losses, maxCrashes)
    }
  })
})

describe("Runs whose leases have ended", () => {
  const options = { isOwn: false, leaseMillis: 15_000, maxCrashes: 4, awayMillis: Number.POSITIVE_INFINITY }
  const leased = (id: string, endsInMillis: number, losses = 0, hasStep = false) => ({
    id,
    endsInMillis,
    losses,
    hasStep
  })
  const settle = (runs: ReadonlyArray<ReturnType<typeof leased>>, other: Partial<typeof options> = {}) =>
    settleLeases(runs, { ...options, ...other }).map(({ id, losses }) => `${id} ${losses}`)

  it("are judged together when the last lease has ended, and not before", () => {
    assert.deepStrictEqual(settle([leased("a", -5_000), leased("b", 1)]), [])
    assert.deepStrictEqual(settle([leased("a", -5_001), leased("b", 0)]), ["a 1", "b 1"])
  })

  it("are let go without a word where their worker lived when they ended", () => {
    const runs = [leased("a", -1, 2), leased("b", -1, 2, true), leased("c", 14_999), leased("d", 0, 2)]
    assert.deepStrictEqual(settle(runs), ["a 2", "b 0"])
    const dead = runs.map((run) => ({ ...run, endsInMillis: Math.min(run.endsInMillis, 14_998) }))
    assert.deepStrictEqual(settle(dead), [])
  })

  it("count for nothing if the worker asks itself", () => {
    assert.deepStrictEqual(settle([leased("a", -5_000, 2), leased("b", 1)], { isOwn: true }), ["a 2"])
  })

  it("count for nothing if the store was away after the last sign of life", () => {
    const runs = [leased("a", -5_000, 2), leased("b", -2_000, 2, true)]
    assert.deepStrictEqual(settle(runs, { awayMillis: 16_999 }), ["a 2", "b 0"])
    assert.deepStrictEqual(settle(runs, { awayMillis: 17_000 }), ["a 3", "b 1"])
  })
})

describe("What a worker may begin", () => {
  const begun = (holds: ReadonlyArray<ReturnType<typeof held>>, waiting: ReadonlyArray<number>, lowest = 0) =>
    lossesOf(mayBegin({ held: holds, waiting: waiting.map((losses) => ({ losses })), lowest }))

  it("is everything that was in flight at one crash, at once", () => {
    assert.deepStrictEqual(begun([held(0), held(1), held(2, true)], [0, 0, 1, 1, 1]), [0, 0, 1, 1, 1])
  })

  it("is one suspect, when what may be guilty besides has finished a step", () => {
    assert.deepStrictEqual(begun([], [0, 1, 2, 2]), [0, 1])
    assert.deepStrictEqual(begun([held(1)], [0, 2, 2]), [0])
    assert.deepStrictEqual(begun([held(1, true), held(2, true), held(0)], [0, 2, 2]), [0, 2])
  })

  it("is nothing that may be guilty beside a suspect", () => {
    assert.deepStrictEqual(begun([held(2)], [0, 1, 2]), [0])
    assert.deepStrictEqual(begun([held(3)], [0, 1, 2]), [0])
  })

  it("is one that was counted alone where nothing else is that may be guilty, whatever it has finished", () => {
    assert.deepStrictEqual(begun([held(0), held(0, true)], [0, 3, 3], 3), [0, 3])
    assert.deepStrictEqual(begun([held(1, true)], [0, 3], 3), [0])
    assert.deepStrictEqual(begun([], [0, 3], 2), [0], "one of the other kind goes first")
  })
})
