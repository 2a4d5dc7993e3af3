import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { StoredApproval } from "../../../Schemas/Approval.ts"
import { ApprovalRepo } from "../../../Services/ApprovalRepo.ts"
import * as Decisions from "./ApprovalRepo/Decisions.ts"
import { approvalsWith } from "./ApprovalRepo/Ordered.ts"
import { isLatest, keepEvents, Store } from "./Store.ts"

export const layer = Layer.effect(
  ApprovalRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { approvals, leases, runs } = tables

    const having = (matches: (approval: StoredApproval) => boolean) => approvalsWith(tables, matches)

    return guard(
      ApprovalRepo.of({
        ...Decisions.make(tables),
        park: (execution, given, events, firstTokenAt = null) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const run = runs.get(execution.id)
            if (run === undefined) return false
            if (!isLatest(tables, execution)) {
              const isOwn = leases.get(run.id)?.worker === execution.worker && run.epoch === execution.epoch
              return isOwn && run.status === "WAITING_APPROVAL"
            }
            runs.set(run.id, {
              ...run,
              status: "WAITING_APPROVAL",
              updatedAt: new Date(at),
              firstTokenAt: run.firstTokenAt ?? firstTokenAt
            })
            tables.crashes.delete(run.id)
            keepEvents(tables, run.id, events)
            const asked = new Set(having(({ runId }) => runId === run.id).map(({ toolCallId }) => toolCallId))
            for (const approval of given) {
              if (!asked.has(approval.toolCallId)) approvals.set(approval.id, approval)
            }
            return true
          }),
        ofRun: (id) => Effect.sync(() => having(({ runId }) => runId === id)),
        waiting: ({ limit, offset, workspaceId }) =>
          Effect.sync(() =>
            having(
              (approval) =>
                approval.workspaceId === workspaceId &&
                approval.status === "PENDING" &&
                runs.get(approval.runId)?.status === "WAITING_APPROVAL"
            ).slice(offset, offset + limit)
          ),
        find: (id) => Effect.sync(() => Option.fromNullishOr(approvals.get(id)))
      })
    )
  })
)
