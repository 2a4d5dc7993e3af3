import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { User } from "../../src/Schemas/User.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { Workplace } from "../../src/Services/Workplace.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { Workspaces } from "../../src/Services/Workspaces.ts"
import { makeAgent } from "../support/Fixtures.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeTeam } from "../support/Team.ts"

const unseen = "model: there is no agent of this id or name that you can see"

const subject = Effect.gen(function* () {
  const team = yield* makeTeam
  const { resolve } = yield* Workplace
  /** Where it is, or how it is refused. */
  const placed = (user: User, named: string | undefined, header?: string) =>
    resolve(user, { header, named }).pipe(
      Effect.map(({ agent, workspaceId }) => [workspaceId, agent?.id ?? null] as const),
      Effect.catch((error) => Effect.succeed([error._tag, error.error] as const))
    )
  return { ...team, placed, resolve }
})

describe("Workplace", () => {
  it.effect("is the only workspace of the caller, and what is named in it", () =>
    Effect.gen(function* () {
      const { id, owner, placed } = yield* subject
      const helper = yield* makeAgent(id, { name: "Helper of all" })
      assert.deepStrictEqual(yield* placed(owner, undefined), [id, null])
      assert.deepStrictEqual(yield* placed(owner, "default"), [id, null])
      assert.deepStrictEqual(yield* placed(owner, helper.id), [id, helper.id])
      assert.deepStrictEqual(yield* placed(owner, "Helper of all"), [id, helper.id])
      assert.deepStrictEqual(yield* placed(owner, `${id}/Helper of all`), [id, helper.id])
      assert.deepStrictEqual(yield* placed(owner, "default", id), [id, null])
      assert.deepStrictEqual(yield* placed(owner, "gpt-4o"), ["NotFound", unseen])
      assert.deepStrictEqual(yield* placed(owner, "agent_none"), ["NotFound", unseen])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("takes what is said where there are several, and else says what to send", () =>
    Effect.gen(function* () {
      const { id, owner, placed, resolve } = yield* subject
      const other = yield* (yield* Workspaces).create(owner, { name: "Other" })
      const helper = yield* makeAgent(other.id, { name: "Helper" })
      const several =
        "X-Workspace-Id: must name one of your workspaces, of which you have several, or model must begin with its id and a /"
      assert.deepStrictEqual(yield* placed(owner, "default"), ["InvalidInput", several])
      assert.deepStrictEqual(yield* placed(owner, "Helper"), ["InvalidInput", several])
      assert.deepStrictEqual(yield* placed(owner, undefined), [
        "InvalidInput",
        "X-Workspace-Id: must name one of your workspaces, of which you have several"
      ])
      assert.deepStrictEqual(yield* placed(owner, "Helper", other.id), [other.id, helper.id])
      assert.deepStrictEqual(yield* placed(owner, `${other.id}/Helper`), [other.id, helper.id])
      assert.deepStrictEqual(yield* placed(owner, `${id}/default`), [id, null])
      // An id says it by itself.
      assert.deepStrictEqual(yield* placed(owner, helper.id), [other.id, helper.id])
      assert.deepStrictEqual(yield* placed(owner, helper.id, id), ["NotFound", unseen])
      assert.deepStrictEqual(yield* placed(owner, `${id}/${helper.id}`), ["NotFound", unseen])
      assert.deepStrictEqual(yield* placed(owner, `${id}/default`, other.id), [
        "InvalidInput",
        "model: names another workspace than X-Workspace-Id"
      ])
      const named = yield* Effect.flip(resolve(owner, { header: undefined, named: "x", field: "agentId" }))
      assert.include(named.error, "or agentId must begin with")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("shows nothing of others", () =>
    Effect.gen(function* () {
      const { id, owner, placed, stranger } = yield* subject
      const helper = yield* makeAgent(id, { name: "Helper" })
      const forbidden = ["Forbidden", "workspaceId: you are not a member of this workspace"] as const
      assert.deepStrictEqual(yield* placed(stranger, "default"), [
        "InvalidInput",
        "X-Workspace-Id: you are a member of no workspace"
      ])
      assert.deepStrictEqual(yield* placed(stranger, "default", id), forbidden)
      assert.deepStrictEqual(yield* placed(stranger, `${id}/Helper`), forbidden)
      assert.deepStrictEqual(yield* placed(stranger, `${id}/${helper.id}`), forbidden)
      const own = yield* (yield* Workspaces).create(stranger, { name: "Own" })
      assert.deepStrictEqual(yield* placed(stranger, helper.id), ["NotFound", unseen])
      assert.deepStrictEqual(yield* placed(stranger, "Helper"), ["NotFound", unseen])
      assert.deepStrictEqual(yield* placed(stranger, "default"), [own.id, null])
      assert.deepStrictEqual(yield* placed(owner, "default", "ws_none"), forbidden)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is where somebody was invited to, if that is all", () =>
    Effect.gen(function* () {
      const { id, owner, placed, stranger, workspaces } = yield* subject
      yield* workspaces.addMember(owner, id, { email: stranger.email })
      assert.deepStrictEqual(yield* placed(stranger, "default"), [id, null])
      const members = yield* (yield* WorkspaceRepo).page({ userId: stranger.id, after: null, limit: 2 })
      assert.lengthOf(members, 1)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("does not choose among active agents of one name", () =>
    Effect.gen(function* () {
      const { id, owner, placed } = yield* subject
      const agents = yield* AgentRepo
      const first = yield* makeAgent(id, { name: "Twin" })
      const second = yield* makeAgent(id, { name: "Twin" })
      assert.deepStrictEqual(yield* placed(owner, "Twin"), [
        "InvalidInput",
        "model: several agents have this name; use the id of one"
      ])
      yield* agents.update(first.id, { isActive: false }, new Date(2_000))
      assert.deepStrictEqual(yield* placed(owner, "Twin"), [id, second.id])
      yield* agents.update(second.id, { isActive: false }, new Date(2_000))
      const [, agent] = yield* placed(owner, "Twin")
      assert.include([first.id, second.id], agent)
    }).pipe(Effect.provide(layerAtRest()))
  )
})
