import { assert, describe, it } from "@effect/vitest"
import { levelAt, limited, type RatePolicy, rateHeaders, rateOf } from "../../src/Schemas/Rate.ts"

const policy: RatePolicy = { name: "default", perMinute: 120 }

describe("a bucket", () => {
  it("is full at first, is filled again evenly, and holds no more than a minute's worth", () => {
    assert.strictEqual(levelAt(policy, undefined, 5), 120)
    assert.strictEqual(levelAt(policy, { level: 0, at: 1000 }, 1000), 0)
    assert.strictEqual(levelAt(policy, { level: 0, at: 1000 }, 1500), 1)
    assert.strictEqual(levelAt(policy, { level: -2, at: 0 }, 30_000), 58)
    assert.strictEqual(levelAt(policy, { level: 119, at: 0 }, 3_600_000), 120)
    assert.strictEqual(levelAt({ ...policy, atOnce: 150 }, undefined, 5), 150)
    assert.strictEqual(levelAt({ ...policy, atOnce: 150 }, { level: 119, at: 0 }, 3_600_000), 150)
  })

  it("tells whole requests, and the whole seconds after which there is one more", () => {
    const seen = [120, 119.5, 119, 1, 0.99, 0.5, 0, -0.5, -119, -120].map((level) => {
      const { remaining, seconds } = rateOf(policy, level)
      assert.isTrue(
        level === 120 || levelAt(policy, { level, at: 0 }, seconds * 1000) >= remaining + 1,
        `${level}`
      )
      return [remaining, seconds]
    })
    const expected = [
      ...[
        [120, 0],
        [119, 1],
        [119, 1],
        [1, 1],
        [0, 1],
        [0, 1],
        [0, 1],
        [0, 1]
      ],
      ...[
        [0, 60],
        [0, 61]
      ]
    ]
    assert.deepStrictEqual(seen, expected)
    assert.strictEqual(rateOf({ name: "anonymous", perMinute: 1 }, 0).seconds, 60)
  })

  it("is told as structured fields, and in a sentence", () => {
    const rate = rateOf(policy, 7)
    assert.deepStrictEqual(rateHeaders(rate), {
      "ratelimit-policy": '"default";q=120;w=60',
      ratelimit: '"default";r=7;t=1'
    })
    const over = limited(rateOf({ name: "anonymous", perMinute: 6 }, 0))
    assert.strictEqual(
      over.error,
      "too many requests without a valid credential from this address: there may be 6 in a minute; try again in 10 s"
    )
    assert.strictEqual(over.retryAfter, 10)
    assert.strictEqual(
      limited(rateOf(policy, 0)).error,
      "too many requests with this token: there may be 120 in a minute; try again in 1 s"
    )
    assert.strictEqual(
      limited(rateOf({ name: "invitation", perMinute: 1, atOnce: 60 }, 0)).error,
      "email: you have invited too many: there may be 60 at once, and then 1 in a minute; try again in 60 s"
    )
  })
})
