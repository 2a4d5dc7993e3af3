import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { makeWeb } from "../support/Web.ts"

describe("the events of a turn that is over", () => {
  it.effect("are there from any place, and behind the end there is a 204", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const json = { workspaceId, content: "call current_time {}" }
      const told = (yield* send("POST", "/api/chat/messages", { token, json })).text
      const [, turnId] = /"turnId":"(\w+)"/.exec(told) ?? []
      const frames = told.split("\n\n").filter((frame) => frame !== "" && frame !== ":")
      const last = frames.length
      assert.match(frames.at(-1) ?? "", new RegExp(`^id: ${last}\nevent: done\n`))
      const behind = (id: number | undefined, method = "GET") =>
        send(method, `/api/runs/${turnId}/events`, {
          token,
          ...(id !== undefined && { headers: { "last-event-id": `${id}` } })
        })

      for (const id of [undefined, 0, 1, last - 1]) {
        const answer = yield* behind(id)
        assert.strictEqual(answer.status, 200)
        const rest = answer.text.split("\n\n").filter((frame) => frame !== "" && frame !== ":")
        assert.deepStrictEqual(rest, frames.slice(id ?? 0), `behind ${id}`)
      }
      for (const id of [last, last + 1, Number.MAX_SAFE_INTEGER]) {
        const answer = yield* behind(id)
        assert.deepStrictEqual([answer.status, answer.text], [204, ""], `behind ${id}`)
        assert.isNull(answer.headers.get("content-type"))
        assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
        assert.strictEqual((yield* behind(id, "HEAD")).status, 204)
      }
      // Whoever may not read it is told so, wherever it ends.
      const { token: stranger } = yield* makeTenant()
      const headers = { "last-event-id": `${last}` }
      const refused = yield* send("GET", `/api/runs/${turnId}/events`, { token: stranger, headers })
      assert.strictEqual(refused.status, 404)
    }).pipe(Effect.provide(layerOffline()))
  )
})
