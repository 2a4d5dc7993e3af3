import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { entriesToAttributes, type Resource } from "effect/observability/OtlpResource"
import type { TelemetryPlan } from "../../Schemas/Telemetry.ts"
import { version } from "../../Schemas/Version.ts"

/** The part of the process that tells: all of it. */
export const scope = { name: "agentd", version } as const

/** An embedded database has one process at a time, and all of them are called the same. */
const instance = randomUUID()

/** What is said of this process with all that is sent. What the operator says of it wins. */
export const make = (
  { attributes, serviceName }: Pick<TelemetryPlan, "attributes" | "serviceName">,
  worker: string
): Resource => {
  const said = {
    "service.name": "agentd",
    "service.version": version,
    "service.instance.id": worker.startsWith("node_") ? worker : instance,
    "host.name": hostname(),
    "process.pid": process.pid,
    "process.runtime.name": "nodejs",
    "process.runtime.version": process.versions.node,
    "telemetry.sdk.name": "agentd",
    "telemetry.sdk.language": "nodejs",
    "telemetry.sdk.version": version,
    ...Object.fromEntries(attributes),
    ...(serviceName !== undefined && { "service.name": serviceName })
  }
  return { attributes: entriesToAttributes(Object.entries(said)), droppedAttributesCount: 0 }
}
