import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { notDecided, type StoredApproval } from "../../../Schemas/Approval.ts"
import { ApprovalRepo } from "../../../Services/ApprovalRepo.ts"
import { inOrder } from "./Order.ts"
import { isLatest, keepEvents, Store, setRun } from "./Store.ts"

export const layer = Layer.effect(
  ApprovalRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { approvals, leases, runs } = tables

    const having = (matches: (approval: StoredApproval) => boolean) =>
      Array.from(approvals.values()).filter(matches).sort(inOrder("createdAt"))

    return guard(
      ApprovalRepo.of({
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
        find: (id) => Effect.sync(() => Option.fromNullishOr(approvals.get(id))),
        decide: (id, decision) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const approval = approvals.get(id)
            const run = approval && runs.get(approval.runId)
            if (
              approval?.status !== "PENDING" ||
              approval.expiresAt.getTime() <= at ||
              run?.status !== "WAITING_APPROVAL"
            ) {
              return false
            }
            approvals.set(id, { ...approval, ...decision })
            if (having(({ runId, status }) => runId === run.id && status === "PENDING").length === 0) {
              const updatedAt = new Date(at)
              runs.set(run.id, { ...run, status: "PENDING", attempts: run.attempts - 1, updatedAt })
            }
            return true
          }),
        expire: (limit) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const late = having(({ expiresAt, status }) => status === "PENDING" && expiresAt.getTime() <= at)
            const ids = Array.from(new Set(late.map(({ runId }) => runId)))
              .filter((id) => runs.get(id)?.status === "WAITING_APPROVAL")
              .slice(0, limit)
            for (const id of ids) {
              const run = runs.get(id)
              const date = new Date(at)
              if (run === undefined) continue
              setRun(tables, {
                ...run,
                status: "FAILED",
                error: notDecided,
                errorCode: "approval_expired",
                finishedAt: date,
                updatedAt: date
              })
              for (const approval of having(({ runId, status }) => runId === id && status === "PENDING")) {
                approvals.set(approval.id, { ...approval, status: "EXPIRED" })
              }
            }
            return ids
          })
      })
    )
  })
)
