import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Unavailable } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { data } from "./Fields.ts"

const Health = data(Schema.Struct({ status: Schema.Literal("ok") }))

/** For load balancers and supervisors; without authentication (CONTRACT.md section 1). */
export const System = HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("live", "/health/live", { success: Health }).annotateMerge(
      OpenApi.annotations({
        summary: "Whether the process runs",
        description: "Says nothing of the database. Takes no credential."
      })
    ),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Health, error: Unavailable }).annotateMerge(
      OpenApi.annotations({
        summary: "Whether requests can be served: database reachable, not draining",
        description: "503 otherwise: no new work should be sent here. Takes no credential."
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .annotateMerge(
    OpenApi.annotations({
      title: "System",
      description: "For load balancers and supervisors, without a credential."
    })
  )
