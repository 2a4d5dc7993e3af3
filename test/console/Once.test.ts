import { describe, expect, it } from "vitest"
import { makeOnce } from "../../console/src/Once.ts"

/** Which keys came with what was sent; what is to be lost is sent, and nobody hears the answer. */
const sending = () => {
  let made = 0
  const once = makeOnce(() => ({ key: `${++made}` }))
  const keys: Array<string | undefined> = []
  const send = (payload: unknown, isLost = false) =>
    once(payload, async (key) => {
      keys.push(key.key)
      if (isLost) throw new Error("lost")
      return "done"
    })
  return { keys, send }
}

describe("what is sent until it is done", () => {
  it("has the key of before when nobody heard the answer, and another when something else is said", async () => {
    const { keys, send } = sending()
    await expect(send({ name: "a" }, true)).rejects.toThrow("lost")
    await expect(send({ name: "a" }, true)).rejects.toThrow("lost")
    await expect(send({ name: "b" }, true)).rejects.toThrow("lost")
    expect(await send({ name: "b" })).toBe("done")
    expect(keys).toEqual(["1", "1", "2", "2"])
  })

  it("has another key once it was answered: the same again is meant", async () => {
    const { keys, send } = sending()
    await send({ name: "a" })
    await send({ name: "a" })
    expect(keys).toEqual(["1", "2"])
  })
})
