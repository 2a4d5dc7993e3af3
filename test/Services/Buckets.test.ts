import { assert, describe, it } from "@effect/vitest"
import { type Buckets, newBuckets } from "../../src/Services/Buckets.ts"

const taken = (buckets: Buckets, key: string, at: number, times: number) =>
  Array.from({ length: times }, () => buckets.take(key, at).isTaken).filter(Boolean).length

describe("buckets", () => {
  it("hold a minute's worth each, and never give more than was filled in", () => {
    const buckets = newBuckets({ name: "default", perMinute: 60 })
    assert.strictEqual(taken(buckets, "a", 0, 100), 60)
    assert.strictEqual(taken(buckets, "b", 0, 1), 1)
    assert.strictEqual(taken(buckets, "a", 999, 9), 0)
    assert.strictEqual(taken(buckets, "a", 1000, 9), 1)
    assert.strictEqual(taken(buckets, "a", 6000, 9), 5)
    assert.strictEqual(taken(buckets, "a", 3_600_000, 100), 60)
  })

  it("hold as many as there may be at once, where that is said, and are remembered until they are full", () => {
    const buckets = newBuckets({ name: "invitation", perMinute: 1, atOnce: 3 })
    assert.strictEqual(taken(buckets, "a", 0, 9), 3)
    assert.strictEqual(buckets.peek("a", 0).seconds, 60)
    assert.strictEqual(taken(buckets, "b", 119_999, 1), 1)
    assert.strictEqual(buckets.size(), 2)
    assert.strictEqual(taken(buckets, "a", 120_000, 9), 2)
    assert.strictEqual(taken(buckets, "a", 3_600_000, 9), 3)
  })

  it("can owe a minute's worth, and are told without being touched", () => {
    const buckets = newBuckets({ name: "anonymous", perMinute: 60 })
    for (let i = 0; i < 90; i++) buckets.take("a", 0, true)
    assert.strictEqual(buckets.peek("a", 0).seconds, 31)
    assert.strictEqual(buckets.peek("a", 30_999).remaining, 0)
    assert.strictEqual(buckets.peek("a", 31_000).remaining, 1)
    for (let i = 0; i < 1000; i++) buckets.take("a", 0, true)
    assert.strictEqual(buckets.peek("a", 0).seconds, 61)
  })

  it("are 50,000 at most, of which those unused for longest are forgotten", () => {
    const buckets = newBuckets({ name: "default", perMinute: 60 })
    taken(buckets, "first", 0, 2)
    for (let i = 0; i < 49_999; i++) buckets.take(`${i}`, 0)
    assert.strictEqual(buckets.peek("first", 0).remaining, 58)
    taken(buckets, "first", 0, 1)
    buckets.take("one more", 0)
    assert.strictEqual(buckets.peek("first", 0).remaining, 57)
    assert.strictEqual(buckets.peek("0", 0).remaining, 60)
    assert.strictEqual(buckets.peek("1", 0).remaining, 59)
    assert.strictEqual(buckets.size(), 50_000)
  })

  it("are forgotten once they are full, a few with each that is used", () => {
    const buckets = newBuckets({ name: "default", perMinute: 60 })
    for (let i = 0; i < 1000; i++) buckets.take(`${i}`, 0)
    for (let i = 0; i < 400; i++) buckets.take("a", 60_000)
    assert.strictEqual(buckets.size(), 1)
  })
})
