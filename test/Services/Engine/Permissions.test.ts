import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { StoredApproval } from "../../../src/Schemas/Approval.ts"
import { ConnectorId, type RunId, type WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { newRun, type StoredRun } from "../../../src/Schemas/Run.ts"
import type { BoundCall } from "../../../src/Schemas/ToolBinding.ts"
import { ApprovalRepo } from "../../../src/Services/ApprovalRepo.ts"
import * as Permissions from "../../../src/Services/Engine/Permissions.ts"
import { binding as tool } from "../../support/Bindings.ts"
import { layerAtRest } from "../../support/Service.ts"

const call: BoundCall = {
  id: "c1",
  name: "docs__write",
  binding: tool,
  arguments: { key: "city", value: { de: ["Bonn", "Köln"] } }
}
const run = newRun({
  id: "run_1" as RunId,
  workspaceId: "workspace_1" as WorkspaceId,
  prompt: "work",
  createdAt: new Date(0)
})

/** What a run may do that goes on after `decision` about `call`. */
const permitAfter = Effect.fnUntraced(function* (
  decision: Pick<StoredApproval, "reason" | "status">,
  given: Partial<StoredRun> = {}
) {
  let asked: ReadonlyArray<StoredApproval> = []
  const repo = { ...(yield* ApprovalRepo), ofRun: () => Effect.sync(() => asked) }
  const permissions = yield* Effect.provideService(Permissions.make, ApprovalRepo, repo)
  asked = (yield* permissions.questions(run, [call])).map((question) => ({ ...question, ...decision }))
  return yield* permissions.permitOf({ ...run, ...given }, true)
})

describe("The decision about a call", () => {
  it.effect("allows this very call, whatever the order of its fields", () =>
    Effect.gen(function* () {
      const permit = yield* permitAfter({ status: "APPROVED", reason: null })
      assert.deepStrictEqual(yield* permit(call, tool), { type: "allowed", isApproved: true })
      const turned = { value: { de: ["Bonn", "Köln"] }, key: "city" }
      assert.deepStrictEqual(yield* permit({ ...call, arguments: turned }, tool), {
        type: "allowed",
        isApproved: true
      })
      assert.deepStrictEqual(yield* permit({ ...call, id: "c2" }, tool), { type: "undecided" })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect.each([
    ["another value", { arguments: { key: "city", value: { de: ["Bonn", "Mainz"] } } }],
    ["another order", { arguments: { key: "city", value: { de: ["Köln", "Bonn"] } } }],
    ["another tool", { binding: { ...tool, tool: "forget" } }],
    ["another connector", { binding: { ...tool, connectorId: ConnectorId.make("conn_2") } }],
    ["another address", { binding: { ...tool, place: "q" } }],
    ["another definition", { binding: { ...tool, definition: "e" } }],
    ["a built-in tool", { binding: null }]
  ] as const)("allows nothing else under its id: %s", ([, others]) =>
    Effect.gen(function* () {
      const permit = yield* permitAfter({ status: "APPROVED", reason: null })
      assert.deepStrictEqual(
        yield* permit({ ...call, ...others }, "binding" in others ? others.binding : tool),
        {
          type: "rejected",
          reason: "its tool or its arguments are others now"
        }
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect.each(["REJECTED", "EXPIRED", "PENDING"] as const)("allows nothing when it is %s", (status) =>
    Effect.gen(function* () {
      const permit = yield* permitAfter({ status, reason: "not in Bonn" })
      assert.deepStrictEqual(yield* permit(call, tool), { type: "rejected", reason: "not in Bonn" })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("allows nothing that the policy of the run denies", () =>
    Effect.gen(function* () {
      const policy = {
        connectorIds: null,
        tools: [{ match: "docs__write", rule: "deny" as const }],
        maxSteps: null,
        maxSeconds: null
      }
      const permit = yield* permitAfter({ status: "APPROVED", reason: null }, { policy })
      assert.deepStrictEqual(yield* permit(call, tool), {
        type: "rejected",
        reason: "a policy denies this tool"
      })
    }).pipe(Effect.provide(layerAtRest()))
  )
})
