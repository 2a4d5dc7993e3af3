import * as Context from "effect/Context"

/** What of this process is told by OpenTelemetry (CONTRACT.md section 13), as far as those who do the work have to know. */
export interface TelemetryShape {
  /** Whether spans are made at all. Then `References.TracerEnabled` is on too, and else none costs anything. */
  readonly tracing: boolean
  /** Whether texts of users, models and tools may be put into spans. */
  readonly captureContent: boolean
  /** Whether `traceparent` and `tracestate` are taken from requests and passed on to others. */
  readonly propagation: boolean
}

/** Nothing, unless the operator has named a collector. */
export const Telemetry = Context.Reference<TelemetryShape>("agentd/Services/Telemetry", {
  defaultValue: () => ({ tracing: false, captureContent: false, propagation: false })
})
