import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import { fingerprintText, type StoredApproval } from "../../Schemas/Approval.ts"
import type { ApprovalId } from "../../Schemas/Ids.ts"
import { makeRuling } from "../../Schemas/Policy.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import type { BoundCall, ToolBinding } from "../../Schemas/ToolBinding.ts"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import { now } from "../CurrentTime.ts"
import { Ids } from "../Ids.ts"
import { Settings } from "../Settings.ts"
import { allowed } from "./CallTool.ts"

const deniedByPolicy = "a policy denies this tool"

/** What a run may do by itself, and what it asks people about. */
export const make = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const digest = yield* Digest.Digest
  const ids = yield* Ids
  const { approvalMillis } = yield* Settings

  const fingerprintOf = (call: BoundCall) =>
    digest.digestHex(Digest.sha256, new TextEncoder().encode(fingerprintText(call)))

  return {
    /**
     * A call is allowed by the decision about exactly this call, or, where nobody was asked, by its policy and its level
     * of autonomy; what the policy denies, by no decision. A run goes on only when nothing of it waits for a decision, so
     * one that is not allowed then is refused.
     */
    permitOf: Effect.fnUntraced(function* (run: StoredRun, hasJournal: boolean) {
      const asked = hasJournal ? yield* approvals.ofRun(run.id) : []
      const ruling = makeRuling(run)
      return Effect.fnUntraced(function* (call: BoundCall, binding: ToolBinding | null) {
        const rule = ruling({ name: call.name, binding })
        if (rule === "deny") return { type: "rejected", reason: deniedByPolicy } as const
        const approval = asked.find(({ toolCallId }) => toolCallId === call.id)
        if (approval === undefined) {
          return rule === "ask" ? ({ type: "undecided" } as const) : allowed
        }
        const isSame =
          approval.fingerprint === (yield* fingerprintOf({ ...call, binding })) ||
          // Of the version before, which knew a call by its name alone.
          (call.binding === undefined && approval.fingerprint === (yield* fingerprintOf(call)))
        return isSame && approval.status === "APPROVED"
          ? ({ type: "allowed", isApproved: true } as const)
          : ({
              type: "rejected",
              reason: isSame ? approval.reason : "its tool or its arguments are others now"
            } as const)
      })
    }),
    /** What people are asked about these calls. */
    questions: Effect.fnUntraced(function* (run: StoredRun, calls: ReadonlyArray<BoundCall>) {
      const createdAt = yield* now
      const expiresAt = new Date(createdAt.getTime() + approvalMillis)
      return yield* Effect.forEach(calls, (call) =>
        Effect.gen(function* () {
          const approval: StoredApproval = {
            id: yield* ids.make<ApprovalId>("approval"),
            workspaceId: run.workspaceId,
            runId: run.id,
            toolCallId: call.id,
            tool: call.name,
            connector:
              call.binding == null
                ? null
                : { id: call.binding.connectorId, name: call.binding.connectorName },
            address: call.binding?.address ?? null,
            description: call.binding?.description ?? null,
            arguments: call.arguments,
            fingerprint: yield* fingerprintOf(call),
            status: "PENDING",
            reason: null,
            decidedBy: null,
            decidedAt: null,
            createdAt,
            expiresAt
          }
          return approval
        })
      )
    })
  }
}).pipe(Effect.provide(Digest.layerWebCrypto))
