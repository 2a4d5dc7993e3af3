import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Approval } from "../../../../Schemas/Approval.ts"
import { ApprovalId, type RunId } from "../../../../Schemas/Ids.ts"
import { cut, textProblem } from "../../../../Schemas/Text.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Approvals } from "../../../../Services/Approvals.ts"
import { objectOr } from "./Messages.ts"

const longestArguments = 2_000
const longestDescription = 500
const longestReason = 1_000

/**
 * A tool call that waits for people as a form for the user of a client (`elicitation/create`). Its key is the id of the
 * approval: it means the same on every node, and never another call.
 */
export const question = (approval: Approval): Schema.JsonObject => {
  const { address, connector, description, tool } = approval
  const where =
    connector === null ? "" : ` of the connector ${connector.name}${address === null ? "" : ` (${address})`}`
  const what = description === null ? "" : `\n${cut(description, longestDescription)}`
  return {
    mode: "form",
    message:
      `An agent asks to call the tool ${tool}${where} with these arguments:\n` +
      `${cut(JSON.stringify(approval.arguments), longestArguments)}${what}`,
    requestedSchema: {
      type: "object",
      properties: {
        decision: {
          type: "string",
          title: "Decision",
          description: "Whether this call may be made, with exactly these arguments",
          enum: ["approve", "reject"]
        },
        reason: {
          type: "string",
          title: "Reason",
          description: "What the agent is told of a call that is rejected",
          maxLength: longestReason
        }
      },
      required: ["decision"]
    }
  }
}

/** All that waits, by the keys under which it is answered. */
export const inputRequests = (approvals: ReadonlyArray<Approval>): Schema.JsonObject =>
  Object.fromEntries(
    approvals.map((approval) => [approval.id, { method: "elicitation/create", params: question(approval) }])
  )

/**
 * What a user has decided, by the answer of their client; none of one who has closed the form, or who was asked something
 * else.
 */
export const decisionOf = (
  response: Schema.Json | undefined
): { readonly decision: "approve" | "reject"; readonly reason?: string } | undefined => {
  const { action, content } = objectOr(response)
  if (action === "decline") return { decision: "reject" }
  if (action !== "accept") return undefined
  const { decision, reason } = objectOr(content)
  if (decision !== "approve" && decision !== "reject") return undefined
  const isReason = typeof reason === "string" && textProblem(reason, 0, longestReason) === undefined
  return { decision, ...(isReason && { reason }) }
}

const isApprovalId = Schema.is(ApprovalId)

export const make = Effect.gen(function* () {
  const approvals = yield* Approvals

  const decide = Effect.fnUntraced(function* (
    caller: Caller,
    key: string,
    response: Schema.Json | undefined
  ) {
    const decided = decisionOf(response)
    if (decided === undefined || !isApprovalId(key)) return false
    return yield* approvals.decide(caller, key, decided).pipe(
      Effect.as(true),
      // Somebody was faster, or there is none: who answers is told nothing of that (`tasks/update`).
      Effect.catchTag(["ApprovalDecided", "NotFound"], () => Effect.succeed(false))
    )
  })

  return {
    /** What waits of a run that the caller may see. */
    waiting: (caller: Caller, run: RunId) => approvals.waitingOf(caller, run),
    /** Whether the answer to the question with this key has decided about it. */
    decide,
    /** The same of several, but for those that are not of this run. */
    decideAll: Effect.fnUntraced(function* (caller: Caller, run: RunId, responses: Schema.JsonObject) {
      let count = 0
      for (const { id } of yield* approvals.waitingOf(caller, run)) {
        if (yield* decide(caller, id, responses[id])) count++
      }
      return count
    })
  }
})
