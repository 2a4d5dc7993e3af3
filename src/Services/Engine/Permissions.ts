import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import { fingerprintText, needsApproval, type StoredApproval } from "../../Schemas/Approval.ts"
import type { ApprovalId } from "../../Schemas/Ids.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import type { ToolCall, ToolDefinition } from "../../Schemas/Tool.ts"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import { now } from "../CurrentTime.ts"
import { Ids } from "../Ids.ts"
import { Settings } from "../Settings.ts"

/** What a run may do by itself, and what it asks people about. */
export const make = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const digest = yield* Digest.Digest
  const ids = yield* Ids
  const { approvalMillis } = yield* Settings

  const fingerprintOf = (call: ToolCall) =>
    digest.digestHex(Digest.sha256, new TextEncoder().encode(fingerprintText(call)))

  return {
    /**
     * A call is allowed by its level of autonomy, or by the decision about exactly this call. A run goes on only
     * when nothing of it waits for a decision, so one that is not allowed then is refused.
     */
    permitOf: Effect.fnUntraced(function* (run: StoredRun, hasJournal: boolean) {
      const asked = hasJournal ? yield* approvals.ofRun(run.id) : []
      return Effect.fnUntraced(function* (call: ToolCall, tool: ToolDefinition) {
        if (!needsApproval(run.autonomyLevel, tool)) return { type: "allowed" } as const
        const approval = asked.find(({ toolCallId }) => toolCallId === call.id)
        if (approval === undefined) return { type: "undecided" } as const
        const isSame = approval.fingerprint === (yield* fingerprintOf(call))
        return isSame && approval.status === "APPROVED"
          ? ({ type: "allowed" } as const)
          : ({ type: "rejected", reason: isSame ? approval.reason : "its arguments are others now" } as const)
      })
    }),
    /** What people are asked about these calls. */
    questions: Effect.fnUntraced(function* (run: StoredRun, calls: ReadonlyArray<ToolCall>) {
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
