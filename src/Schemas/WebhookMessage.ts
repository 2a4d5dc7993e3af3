import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Approval } from "./Approval.ts"
import { BudgetUsage, LimitName } from "./Budget.ts"
import { Connector } from "./Connector.ts"
import { ConnectorHealth } from "./ConnectorHealth.ts"
import { CronJob } from "./CronJob.ts"
import { ConversationId, MessageId, WorkspaceId } from "./Ids.ts"
import { RunDetail } from "./Run.ts"
import { Timestamp } from "./Timestamp.ts"
import { testType } from "./WebhookEvent.ts"

const truncated = {
  truncated: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description: "There if something in it was longer than 16 KiB and is cut: `GET` shows the whole."
    })
  )
}

/** `GET /api/runs/{id}` without its steps, as it was then. */
const run = Struct.omit(RunDetail.fields, ["steps"])

/** Of a chat turn: where it answers, and the id of its reply. */
const answer = { conversationId: ConversationId, messageId: MessageId }

export const RunEventData = Schema.Struct({ ...run, ...truncated }).annotate({
  identifier: "RunEventData"
})

export const TurnEventData = Schema.Struct({ ...run, ...answer, ...truncated }).annotate({
  identifier: "TurnEventData"
})

export const WaitingEventData = Schema.Struct({
  ...run,
  conversationId: Schema.optionalKey(
    ConversationId.annotate({ description: "Of a chat turn, as `messageId`." })
  ),
  messageId: Schema.optionalKey(MessageId),
  approvals: Schema.Array(Approval).annotate({
    description:
      "What it waits for, oldest first, 20 and 256 KiB at most. `arguments` that are longer than 16 KiB are the beginning " +
      "of their JSON, as a text."
  }),
  ...truncated
}).annotate({ identifier: "WaitingEventData" })

export const ApprovalEventData = Schema.Struct({ ...Approval.fields, ...truncated }).annotate({
  identifier: "ApprovalEventData"
})

export const MissedEventData = Schema.Struct({
  ...CronJob.fields,
  missed: Schema.Struct({ count: Schema.Int, first: Timestamp, last: Timestamp })
    .annotate({ identifier: "MissedSlots" })
    .annotateKey({ description: "Slots that were missed, and are in `GET …/fires` now." }),
  ...truncated
}).annotate({ identifier: "MissedEventData" })

export const ConnectorEventData = Schema.Struct({
  ...Connector.fields,
  health: ConnectorHealth,
  ...truncated
}).annotate({ identifier: "ConnectorEventData" })

export const BudgetEventData = Schema.Struct({
  workspaceId: WorkspaceId,
  limit: LimitName,
  value: Schema.Finite.annotate({ description: "Of the limit as it was then." }),
  ...BudgetUsage.fields,
  ...truncated
}).annotate({ identifier: "BudgetEventData" })

export const TestEventData = Schema.Struct({ message: Schema.String }).annotate({
  identifier: "TestEventData"
})

/** What `data` is, by the type of the message. */
export const dataOf = {
  "run.completed": RunEventData,
  "run.failed": RunEventData,
  "run.cancelled": RunEventData,
  "run.waiting_approval": WaitingEventData,
  "approval.decided": ApprovalEventData,
  "turn.completed": TurnEventData,
  "turn.failed": TurnEventData,
  "cron.missed": MissedEventData,
  "connector.error": ConnectorEventData,
  "connector.recovered": ConnectorEventData,
  "budget.reached": BudgetEventData,
  [testType]: TestEventData
} as const

const message = <const T extends keyof typeof dataOf>(type: T) =>
  Schema.Struct({ type: Schema.Literal(type), timestamp: Timestamp, data: dataOf[type] })

/** The body of what is sent to a webhook (Standard Webhooks; CONTRACT.md section 12). */
export const WebhookMessage = Schema.Union([
  message("run.completed"),
  message("run.failed"),
  message("run.cancelled"),
  message("run.waiting_approval"),
  message("approval.decided"),
  message("turn.completed"),
  message("turn.failed"),
  message("cron.missed"),
  message("connector.error"),
  message("connector.recovered"),
  message("budget.reached"),
  message(testType)
]).annotate({ identifier: "WebhookMessage" })
export type WebhookMessage = typeof WebhookMessage.Type
