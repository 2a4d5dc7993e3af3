import type { WebhookEventType } from "../../../../src/Schemas/WebhookEvent.ts"

/** When webhooks are told of each (docs/webhook-events.md). */
export const meanings: Record<WebhookEventType, string> = {
  "run.completed": "a task is completed",
  "run.failed": "a task has failed",
  "run.cancelled": "a task was cancelled",
  "run.waiting_approval": "a task or a chat waits for people",
  "approval.decided": "somebody approved or rejected",
  "turn.completed": "a chat answer is completed",
  "turn.failed": "a chat answer has failed",
  "cron.missed": "slots of a schedule were missed",
  "connector.error": "a connector begins to fail",
  "connector.recovered": "a connector works again",
  "budget.reached": "a limit of the month is reached"
}

/** The names of events as a list says them. */
export const summary = (events: ReadonlyArray<string>): string => {
  if (events.includes("*")) return "All events"
  return events.length <= 3
    ? events.join(", ")
    : `${events.slice(0, 2).join(", ")} and ${events.length - 2} more`
}
