import { assert, describe, it } from "@effect/vitest"
import { waitOf } from "../../src/Schemas/Prefer.ts"

describe("waitOf", () => {
  const cases: ReadonlyArray<readonly [prefer: string | undefined, wait: number | null | undefined]> = [
    [undefined, undefined],
    ["", undefined],
    ["respond-async", undefined],
    ["handling=lenient, return=minimal", undefined],
    ["waiting=5", undefined],
    ['note="wait=5"', undefined],
    ["foo; wait=5", undefined],
    ["wait=1", 1],
    ["wait=60", 60],
    ["WAIT = 10", 10],
    ['wait="10"', 10],
    ["respond-async, wait=10", 10],
    ['note="a, b", wait=7; until=done', 7],
    ["wait=10, wait=20", 10],
    ["wait=10;x=y,respond-async", 10],
    ["wait", null],
    ["wait=", null],
    ["wait=0", null],
    ["wait=61", null],
    ["wait=-1", null],
    ["wait=1.5", null],
    ["wait=1e1", null],
    ["wait=010", null],
    ["wait=ten", null],
    ["wait=x, wait=20", null]
  ]
  for (const [prefer, wait] of cases) {
    it(`of ${JSON.stringify(prefer)} is ${wait}`, () => {
      assert.strictEqual(waitOf(prefer), wait)
    })
  }
})
