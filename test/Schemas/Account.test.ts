import { assert, describe, it } from "@effect/vitest"
import { daysOf } from "../../src/Schemas/Account.ts"
import { isUsable, looksLikeToken } from "../../src/Schemas/Token.ts"

describe("the life of a token", () => {
  const at = new Date("2026-11-20T08:00:00.000Z")
  const later = new Date(at.getTime() + 1)
  it("ends at its expiry, to the millisecond", () => {
    assert.isTrue(isUsable({ expiresAt: later, revokedAt: null }, at))
    assert.isFalse(isUsable({ expiresAt: at, revokedAt: null }, at))
    assert.isTrue(isUsable({ expiresAt: null, revokedAt: null }, at))
  })
  it("ends when it is revoked", () => {
    assert.isFalse(isUsable({ expiresAt: null, revokedAt: at }, at))
  })
  it("is written as hours, days or weeks, ten years at most", () => {
    assert.strictEqual(daysOf("12h"), 0.5)
    assert.strictEqual(daysOf("30d"), 30)
    assert.strictEqual(daysOf("2w"), 14)
    for (const wrong of [
      "",
      "0d",
      "-1d",
      "1.5d",
      "30",
      "d",
      "3651d",
      "99999w",
      "1y",
      "030d",
      "1e1d",
      "+3d",
      " 3d"
    ]) {
      assert.isUndefined(daysOf(wrong), wrong)
    }
  })
})

describe("a credential", () => {
  it("is asked for in the database only if it has the form of a token", () => {
    assert.isTrue(looksLikeToken(`agentd_${"a".repeat(43)}`))
    for (const wrong of [
      "",
      "agentd_",
      "agentd_short",
      `sk_${"a".repeat(43)}`,
      `agentd_${"a".repeat(43)}'`
    ]) {
      assert.isFalse(looksLikeToken(wrong), wrong)
    }
  })
})
