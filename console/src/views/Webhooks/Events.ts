import type { WebhookEventType } from "../../../../src/Schemas/WebhookEvent.ts"

/** When webhooks are told of each (docs/webhook-events.md). */
export const meanings: Record<WebhookEventType, string> = {
  "run.completed": "A task is completed",
  "run.failed": "A task has failed",
  "run.cancelled": "A task was cancelled",
  "run.waiting_approval": "A task or a chat waits for people",
  "approval.decided": "Somebody approved or rejected",
  "turn.completed": "A chat answer is completed",
  "turn.failed": "A chat answer has failed",
  "cron.missed": "Slots of a schedule were missed",
  "connector.error": "A connector begins to fail",
  "connector.recovered": "A connector works again",
  "budget.reached": "A limit of the month is reached"
}

/** The names of events as a list says them. */
export const summary = (events: ReadonlyArray<string>): string => {
  if (events.includes("*")) return "All events"
  return events.length <= 3
    ? events.join(", ")
    : `${events.slice(0, 2).join(", ")} and ${events.length - 2} more`
}
