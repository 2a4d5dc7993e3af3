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

export const RunMessageData = Schema.Struct({ ...run, ...truncated }).annotate({
  identifier: "RunMessageData"
})

export const TurnMessageData = Schema.Struct({ ...run, ...answer, ...truncated }).annotate({
  identifier: "TurnMessageData"
})

export const WaitingMessageData = Schema.Struct({
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
}).annotate({ identifier: "WaitingMessageData" })

export const ApprovalMessageData = Schema.Struct({ ...Approval.fields, ...truncated }).annotate({
  identifier: "ApprovalMessageData"
})

export const MissedMessageData = Schema.Struct({
  ...CronJob.fields,
  missed: Schema.Struct({ count: Schema.Int, first: Timestamp, last: Timestamp })
    .annotate({ identifier: "MissedSlots" })
    .annotateKey({ description: "Slots that were missed, and are in `GET …/fires` now." }),
  ...truncated
}).annotate({ identifier: "MissedMessageData" })

export const ConnectorMessageData = Schema.Struct({
  ...Connector.fields,
  health: ConnectorHealth,
  ...truncated
}).annotate({ identifier: "ConnectorMessageData" })

export const BudgetMessageData = Schema.Struct({
  workspaceId: WorkspaceId,
  limit: LimitName,
  value: Schema.Finite.annotate({ description: "Of the limit as it was then." }),
  ...BudgetUsage.fields,
  ...truncated
}).annotate({ identifier: "BudgetMessageData" })

export const TestMessageData = Schema.Struct({ message: Schema.String }).annotate({
  identifier: "TestMessageData"
})

/** What `data` is, by the type of the message. */
export const dataOf = {
  "run.completed": RunMessageData,
  "run.failed": RunMessageData,
  "run.cancelled": RunMessageData,
  "run.waiting_approval": WaitingMessageData,
  "approval.decided": ApprovalMessageData,
  "turn.completed": TurnMessageData,
  "turn.failed": TurnMessageData,
  "cron.missed": MissedMessageData,
  "connector.error": ConnectorMessageData,
  "connector.recovered": ConnectorMessageData,
  "budget.reached": BudgetMessageData,
  [testType]: TestMessageData
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
