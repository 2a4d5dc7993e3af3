import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AgentRepo } from "../../../../src/Services/AgentRepo.ts"
import { Workspaces } from "../../../../src/Services/Workspaces.ts"
import { at, makeAgent } from "../../../support/Fixtures.ts"
import { makeOpenAi, refusal } from "../../../support/OpenAiClient.ts"
import { layerScripted, makeTenant } from "../../../support/Service.ts"

const subject = Effect.gen(function* () {
  const openAi = yield* makeOpenAi
  const ids = (headers: Record<string, string> = {}) =>
    Effect.promise(async () => {
      const found: Array<string> = []
      for await (const { id } of openAi.client.models.list({ headers })) found.push(id)
      return found
    })
  return { ...openAi, ids }
})

describe("GET /v1/models", () => {
  it.effect("has the default behaviour, and active agents by id and by name", () =>
    Effect.gen(function* () {
      const { client, ids, workspaceId } = yield* subject
      assert.deepStrictEqual(yield* ids(), ["default"])
      const poet = yield* makeAgent(workspaceId, { name: "Poet of / all", createdAt: at(5_000) })
      const twins = [
        yield* makeAgent(workspaceId, { name: "Twin" }),
        yield* makeAgent(workspaceId, { name: "Twin" })
      ]
      const resting = yield* makeAgent(workspaceId, { name: "Resting", isActive: false })
      const odd = yield* makeAgent(workspaceId, { name: "default" })
      yield* makeAgent((yield* makeTenant()).workspaceId, { name: "Foreign" })
      const listed = yield* ids()
      assert.sameMembers(listed, ["default", poet.id, poet.name, ...twins.map(({ id }) => id), odd.id])
      assert.deepStrictEqual(yield* Effect.promise(() => client.models.retrieve(poet.name)), {
        id: poet.name,
        object: "model",
        created: Math.floor(poet.createdAt.getTime() / 1_000),
        owned_by: workspaceId,
        name: poet.name
      } as never)
      for (const id of [
        poet.id,
        "default",
        `${workspaceId}/default`,
        `${workspaceId}/Poet of / all`,
        resting.id
      ]) {
        assert.strictEqual((yield* Effect.promise(() => client.models.retrieve(id))).id, id)
      }
      for (const id of ["Foreign", "poet", "agent_none"]) {
        const error = yield* refusal(() => client.models.retrieve(id))
        assert.deepStrictEqual([error.status, error.code], [404, "model_not_found"])
      }
      const twin = yield* refusal(() => client.models.retrieve("Twin"))
      assert.deepStrictEqual([twin.status, twin.param], [400, "model"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("has those of all workspaces of the caller, each so that it can be named", () =>
    Effect.gen(function* () {
      const { client, ids, user, workspaceId } = yield* subject
      const second = yield* (yield* Workspaces).create(user, { name: "Second" })
      const here = yield* makeAgent(workspaceId, { name: "Helper" })
      const there = yield* makeAgent(second.id, { name: "Helper" })
      const listed = yield* ids()
      assert.sameMembers(listed, [
        `${workspaceId}/default`,
        `${second.id}/default`,
        here.id,
        `${workspaceId}/Helper`,
        there.id,
        `${second.id}/Helper`
      ])
      for (const id of listed)
        assert.strictEqual((yield* Effect.promise(() => client.models.retrieve(id))).id, id)
      assert.sameMembers(yield* ids({ "x-workspace-id": second.id }), ["default", there.id, "Helper"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is read a page at a time", () =>
    Effect.gen(function* () {
      const { send, token, user, workspaceId } = yield* subject
      const agents = []
      for (let n = 0; n < 5; n++)
        agents.push(yield* makeAgent(workspaceId, { name: `a${n}`, createdAt: at(n) }))
      const page = Effect.fnUntraced(function* (query: string) {
        const answer = yield* send("GET", `/v1/models?${query}`, { token })
        assert.strictEqual(answer.status, 200, answer.text)
        const { data, has_more, last_id } = answer.body as {
          data: ReadonlyArray<{ id: string }>
          has_more: boolean
          last_id: string
        }
        return { ids: data.map(({ id }) => id), has_more, last_id }
      })
      const first = yield* page("limit=3")
      assert.deepStrictEqual(first, {
        ids: ["default", ...agents.slice(0, 3).flatMap(({ id, name }) => [id, name])],
        has_more: true,
        last_id: agents[2]?.id ?? ""
      })
      assert.deepStrictEqual(yield* page(`limit=3&after=${first.last_id}`), {
        ids: agents.slice(3).flatMap(({ id, name }) => [id, name]),
        has_more: false,
        last_id: agents[4]?.id ?? ""
      })
      assert.strictEqual((yield* send("GET", "/v1/models?limit=1001", { token })).status, 400)
      assert.strictEqual((yield* send("GET", "/v1/models?after=agent_none", { token })).status, 400)
      yield* (yield* AgentRepo).remove(agents[4]?.id as never)
      yield* (yield* Workspaces).create(user, { name: "Second" })
      const unclear = yield* send("GET", `/v1/models?after=${first.last_id}`, { token })
      assert.include(unclear.text, "X-Workspace-Id")
      assert.strictEqual(unclear.status, 400)
    }).pipe(Effect.provide(layerScripted()))
  )
})
