import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import {
  addSpending,
  type BudgetExceeded,
  boundOf,
  budgetExceeded,
  nothingSpent,
  type Permission,
  unpriced,
  usualOutputTokens
} from "../../Schemas/Budget.ts"
import type { HandedBack } from "../../Schemas/Execution.ts"
import { OwnershipLost } from "../../Schemas/Execution.ts"
import type { WorkspaceId } from "../../Schemas/Ids.ts"
import type { InferenceRequest } from "../../Schemas/Inference.ts"
import type { JournalStep } from "../../Schemas/Journal.ts"
import type { BudgetRepo } from "../BudgetRepo.ts"
import type { Asking, Model } from "../Inference.ts"
import { whileOurs } from "../Lease.ts"
import * as Metrics from "../Metrics.ts"
import type { Execution } from "../RunRepo.ts"
import type { BudgetNews } from "./BudgetNews.ts"
import { untilDraining } from "./Draining.ts"
import { patiently } from "./Patience.ts"

export type NotBegun = BudgetExceeded | HandedBack | OwnershipLost

/** How the calls of one execution keep to the budget of its workspace (CONTRACT.md section 11). */
export interface CallBudget {
  /**
   * Makes a call of a model, of which `isCounted` says whether the provider told what it cost. Where the workspace has
   * a budget it begins when that lets it: until then it waits, without a connection to the store, and ends with
   * `HandedBack` when the process stops. What the call may cost at most is held until the step is journaled; it is
   * given back where the model surely never had the question, and counts as lost where nobody knows what came of it.
   * Without a budget this asks nobody.
   */
  readonly during: <A, E, R>(
    question: { readonly model: Model; readonly request: InferenceRequest },
    isCounted: (answer: A) => boolean,
    call: (asking: Asking<NotBegun> | undefined) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | NotBegun, R>
  /** A step is journaled, now or by an execution before. */
  readonly booked: (step: JournalStep) => Effect.Effect<void>
}

/** Of the execution that this is part of; what is executed by none has no budget. */
export const CallBudget = Context.Reference<CallBudget>("agentd/Services/Engine/CallBudget", {
  defaultValue: () => ({
    during: (_question, _isCounted, call) => call(undefined),
    booked: () => Effect.void
  })
})

interface Given {
  readonly repo: BudgetRepo["Service"]
  readonly news: BudgetNews["Service"]
  readonly execution: Execution
  readonly workspaceId: WorkspaceId
}

/** Answers of what an execution holds, and how it comes by it. */
const makeHeld = ({ execution, news, repo, workspaceId }: Given) => {
  let isHeld = false
  /** A call is lost and the store has not heard of it: that comes before the next one, which takes its place. */
  let owesLoss = false
  const freed = Effect.suspend(() => {
    isHeld = false
    return news.freed(workspaceId)
  })

  const lose = Effect.tap(repo.settle(execution, "lost"), () =>
    Effect.sync(() => {
      owesLoss = false
    })
  )
  const paid = Effect.suspend(() => (owesLoss ? lose : Effect.void))

  /** Not interrupted in the middle: what was held and forgotten would count as lost. */
  const ask = (call: Parameters<BudgetRepo["Service"]["reserve"]>[0]) =>
    patiently(
      Effect.uninterruptible(
        Effect.andThen(
          paid,
          Effect.tap(repo.reserve(call), ({ type }) =>
            Effect.sync(() => {
              isHeld = type === "reserved"
            })
          )
        )
      )
    )

  return {
    isHeld: () => isHeld,
    /** Waits until it may begin; false: there is no budget. */
    reserve: Effect.fnUntraced(function* (
      call: Omit<Parameters<typeof ask>[0], "execution" | "workspaceId">,
      model: string
    ) {
      let hasWaited = false
      while (true) {
        const since = news.seen()
        const permission: Permission = yield* ask({ ...call, execution, workspaceId })
        if (hasWaited && permission.type !== "waits") news.pass(workspaceId)
        switch (permission.type) {
          case "reserved":
            return true
          case "none":
            news.hasNone(workspaceId, since)
            return false
          case "lost":
            return yield* new OwnershipLost()
          case "unpriced":
            yield* Metrics.countBudgetRefusal("price")
            return yield* unpriced(model)
          case "refused":
            yield* Metrics.countBudgetRefusal(permission.reached.limit)
            return yield* budgetExceeded(permission.reached)
          case "waits":
            hasWaited = true
            yield* untilDraining(news.changed(workspaceId))
        }
      }
    }),
    /**
     * Tried once: what the store does not hear of counts as lost when the execution is over, and a loss before its next
     * call as well.
     */
    settle: (how: "released" | "lost") =>
      Effect.suspend(() => {
        if (!isHeld) return Effect.void
        owesLoss = how === "lost"
        return Effect.andThen(Effect.ignore(how === "lost" ? lose : repo.settle(execution, how)), freed)
      }),
    booked: Effect.suspend(() => (isHeld ? freed : Effect.void))
  }
}

export const make = (given: Given): CallBudget => {
  const { news, workspaceId } = given
  const held = makeHeld(given)
  let run = nothingSpent
  /** When it was last known that there is none. */
  let since = news.seen()

  return {
    during: (question, isCounted, call) => {
      const { model, request } = question
      const most = model.maxOutputTokens ?? usualOutputTokens
      const outputTokens = Math.min(most, request.sampling?.maxOutputTokens ?? most)
      if (!model.hasBudget && !news.mayHave(workspaceId, since)) return call(undefined)
      const seen = news.seen()
      const { pricing } = model
      const reserve = Effect.suspend(() =>
        held.reserve({ bound: boundOf(request, outputTokens, pricing), run }, model.answeredBy.model)
      )
      const asking: Asking<NotBegun> = {
        maxOutputTokens: outputTokens,
        again: Effect.andThen(Effect.asVoid(reserve), whileOurs),
        failed: (isUnasked) => held.settle(isUnasked ? "released" : "lost")
      }
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const begun = yield* Effect.exit(restore(Effect.tap(reserve, () => whileOurs)))
          if (Exit.isFailure(begun)) {
            yield* held.settle("released")
            return yield* Effect.failCause(begun.cause)
          }
          if (!begun.value) since = seen
          const made = yield* Effect.exit(restore(call(begun.value ? asking : undefined)))
          // Who is interrupted can't write any more: what it holds is lost with its execution.
          if (Exit.isSuccess(made) ? !isCounted(made.value) : !Exit.hasInterrupts(made)) {
            yield* held.settle("lost")
          }
          return yield* made
        })
      )
    },
    booked: (step) =>
      Effect.suspend(() => {
        if (step.type !== "model") return Effect.void
        const { costNanos, usage } = step
        const tokens = usage.inputTokens + usage.outputTokens
        run = addSpending(run, { tokens, costNanos: costNanos ?? 0 })
        return held.booked
      })
  }
}
