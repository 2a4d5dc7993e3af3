import * as Metric from "effect/Metric"

/** What an operator watches, as `GET /metrics` shows it. Attributes have few values each. */

export const httpRequests = Metric.counter("http_requests_total", {
  description: "Requests answered, by method and status",
  incremental: true
})

export const httpSeconds = Metric.histogram("http_request_seconds", {
  description: "Time until the headers of an answer, in seconds",
  boundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
})

export const runsFinished = Metric.counter("runs_finished_total", {
  description: "Runs that this node has finished, by status",
  incremental: true
})

export const cronSlots = Metric.counter("cron_slots_total", {
  description: "Slots of cron jobs that this node has handled, by outcome",
  incremental: true
})

export const turnsFinished = Metric.counter("chat_turns_finished_total", {
  description: "Chat turns that this node has answered, by how they ended",
  incremental: true
})
