import { assert, describe, it } from "@effect/vitest"
import {
  type Capacity,
  drain,
  executions,
  expired,
  free,
  giveBack,
  idle,
  isOurs,
  lose,
  occupy,
  oursUntil,
  placeOf,
  queryLimit,
  renew,
  reserve,
  silentMillis,
  vacate
} from "../../src/Schemas/Capacity.ts"
import type { RunId } from "../../src/Schemas/Ids.ts"

const run = (name: string, epoch = 1) => ({ id: `run_${name}` as RunId, epoch })

const reserved = (capacity: Capacity, wanted: number) => reserve(capacity, wanted).capacity

/** Three places, two of them taken until 100. */
const twoOfThree = occupy(reserved(idle(3), 2), [run("a"), run("b")], { reserved: 2, until: 100 })

describe("the capacity of a node", () => {
  it("grants what is free, and no more", () => {
    assert.strictEqual(free(idle(3)), 3)
    const some = reserve(idle(3), 2)
    assert.deepStrictEqual([some.granted, free(some.capacity)], [2, 1])
    const rest = reserve(some.capacity, 2)
    assert.deepStrictEqual([rest.granted, free(rest.capacity)], [1, 0])
    assert.strictEqual(reserve(rest.capacity, 1).granted, 0)
    assert.strictEqual(free(giveBack(rest.capacity, 2)), 2)
  })

  it("fills reserved places, and frees those that are left over", () => {
    assert.strictEqual(free(twoOfThree), 1)
    const filled = occupy(reserved(idle(8), 8), [run("a")], { reserved: 8, until: 100 })
    assert.strictEqual(free(filled), 7)
    assert.deepStrictEqual(executions(filled), [run("a")])
  })

  it("frees a place when its execution has ended, once", () => {
    const ended = vacate(twoOfThree, run("a"))
    assert.strictEqual(free(ended), 2)
    assert.strictEqual(free(vacate(ended, run("a"))), 2)
  })

  it("grants nothing while draining", () => {
    assert.strictEqual(free(drain(twoOfThree)), 0)
    assert.strictEqual(reserve(drain(idle(3)), 1).granted, 0)
    assert.strictEqual(free(drain(vacate(twoOfThree, run("a")))), 0)
  })

  it("says of an execution whether it is ours: until its lease ends, or it is lost", () => {
    assert.isTrue(isOurs(twoOfThree, run("a"), 99))
    assert.isFalse(isOurs(twoOfThree, run("a"), 100))
    assert.isFalse(isOurs(lose(twoOfThree, run("a")), run("a"), 99))
    assert.isFalse(isOurs(twoOfThree, run("a", 2), 99))
    assert.isFalse(isOurs(twoOfThree, run("c"), 99))
  })

  it("tells a later execution of the same run from one that was lost", () => {
    const again = occupy(reserved(lose(twoOfThree, run("a")), 1), [run("a", 2)], { reserved: 1, until: 200 })
    assert.isUndefined(placeOf(again, run("a")))
    assert.deepStrictEqual(placeOf(again, run("a", 2)), { epoch: 2, until: 200, isLost: false })
    for (const change of [lose, vacate]) assert.strictEqual(change(again, run("a")), again)
    assert.strictEqual(renew(again, run("a"), 999), again)
    assert.strictEqual(free(again), 1)
  })

  it("keeps the place of an execution that has to stop until it has", () => {
    const lost = lose(twoOfThree, run("b"))
    assert.deepStrictEqual(placeOf(lost, run("b")), { epoch: 1, until: 100, isLost: true })
    assert.strictEqual(free(lost), 1)
  })

  it("finds the executions whose lease has ended", () => {
    assert.deepStrictEqual(expired(twoOfThree, 99), [])
    assert.sameDeepMembers([...expired(twoOfThree, 100)], [run("a"), run("b")])
    assert.deepStrictEqual(expired(renew(twoOfThree, run("a"), 101), 100), [run("b")])
  })

  it("counts a lease shorter than it is, from when it was asked for", () => {
    assert.strictEqual(oursUntil(1_000, 10_000), 10_000)
  })

  it("lets nobody wait for a silent session for half of his time, or of a lease", () => {
    assert.deepStrictEqual([silentMillis(15_000, 10_000), silentMillis(5_000, 10_000)], [5_000, 2_500])
    assert.strictEqual(silentMillis(1, 1), 1, "0 is no limit")
  })

  it("leaves room beside a query for what is made here meanwhile", () => {
    assert.deepStrictEqual([queryLimit(16, "task"), queryLimit(1, "task")], [8, 1])
    assert.deepStrictEqual([queryLimit(256, "turn"), queryLimit(4, "turn")], [32, 1])
  })
})
