import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { AgentId, CronJobId } from "../Schemas/Ids.ts"
import { Run, RunStatus } from "../Schemas/Run.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { listQuery, maxOffset, wholeNumber } from "./Fields.ts"

/** Specification, Tasks and runs: GET /api/runs. */
export const Runs = HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/api/runs", {
      query: {
        ...listQuery,
        status: Schema.optionalKey(RunStatus),
        agentId: Schema.optionalKey(AgentId),
        cronJobId: Schema.optionalKey(CronJobId),
        limit: Schema.optionalKey(wholeNumber(1, 100)),
        offset: Schema.optionalKey(wholeNumber(0, maxOffset))
      },
      success: Schema.Struct({ data: Schema.Array(Run), total: Schema.Int })
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List runs, newest first",
        description: "`limit` is 1 to 100 (20), `total` counts all that match."
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Runs", description: "The execution of tasks." }))
