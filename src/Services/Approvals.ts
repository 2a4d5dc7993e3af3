import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Approval, ApprovalDecided, type DecideApproval, toApproval } from "../Schemas/Approval.ts"
import type { Forbidden, InvalidInput, NotFound, Unavailable } from "../Schemas/Errors.ts"
import type { ApprovalId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import type { StoredRun } from "../Schemas/Run.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { ApprovalRepo } from "./ApprovalRepo.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Signals } from "./Signals.ts"

/** What people decide about tool calls (CONTRACT.md sections 5 and 8). */
export class Approvals extends Context.Service<
  Approvals,
  {
    /** What waits in a workspace, oldest first. */
    readonly list: (
      user: User,
      filter: { readonly workspaceId: WorkspaceId; readonly limit: number; readonly offset: number }
    ) => Effect.Effect<ReadonlyArray<Approval>, Forbidden | InvalidInput | Unavailable>
    /** What waits of a run or chat turn, oldest first; none of one that the caller may not see. */
    readonly waitingOf: (user: User, run: RunId) => Effect.Effect<ReadonlyArray<Approval>, Unavailable>
    /** What was asked about the calls of a run, with what was decided, for members of its workspace. */
    readonly ofRun: (
      user: User,
      run: Pick<StoredRun, "id" | "workspaceId">
    ) => Effect.Effect<ReadonlyArray<Approval>, Forbidden | Unavailable>
    /**
     * By any member. The first decision wins; its run goes on, on any node, when nothing of it waits any
     * more. A call that is not allowed goes back to the model as an error.
     */
    readonly decide: (
      user: User,
      id: ApprovalId,
      input: DecideApproval
    ) => Effect.Effect<Approval, ApprovalDecided | NotFound | Unavailable>
  }
>()("agentd/Services/Approvals") {
  static readonly layer = Layer.effect(
    Approvals,
    Effect.gen(function* () {
      const access = yield* Access
      const repo = yield* ApprovalRepo
      const signals = yield* Signals

      const visible = Effect.fnUntraced(function* (user: User, id: ApprovalId) {
        return yield* access.visible(user, "approval", yield* repo.find(id))
      })

      return Approvals.of({
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          return (yield* repo.waiting(filter)).map(toApproval)
        }),
        waitingOf: Effect.fnUntraced(function* (user, run) {
          const waiting = (yield* repo.ofRun(run)).filter(({ status }) => status === "PENDING")
          const [first] = waiting
          if (first === undefined) return []
          const seen = yield* Effect.option(access.visible(user, "run", Option.some(first)))
          return Option.isSome(seen) ? waiting.map(toApproval) : []
        }),
        ofRun: Effect.fnUntraced(function* (user, { id, workspaceId }) {
          yield* access.member(user, workspaceId)
          return (yield* repo.ofRun(id)).map(toApproval)
        }),
        decide: Effect.fnUntraced(function* (user, id, { decision, reason }) {
          const approval = yield* visible(user, id)
          const deciding = repo.decide(id, {
            status: decision === "approve" ? "APPROVED" : "REJECTED",
            reason: reason ?? null,
            decidedBy: user.id,
            decidedAt: yield* now
          })
          const decided = yield* deciding.pipe(audited(`approval.${decision}`, approval))
          if (!decided) {
            return yield* new ApprovalDecided({ error: "this was decided already, or nothing waits for it" })
          }
          // First those who read it, so that whoever goes on with it knows that somebody does.
          yield* signals.publish({ type: "run", id: approval.runId })
          yield* signals.publish({ type: "runs" })
          return toApproval(yield* visible(user, id))
        })
      })
    })
  )
}
