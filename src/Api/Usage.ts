import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { UsageGroup, UsageRow } from "../Schemas/UsageReport.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { data, workspaceQuery } from "./Fields.ts"

export const Usage = HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("report", "/api/usage", {
      query: {
        ...workspaceQuery,
        from: Schema.optionalKey(Schema.String),
        to: Schema.optionalKey(Schema.String),
        groupBy: Schema.optionalKey(UsageGroup)
      },
      success: data(Schema.Array(UsageRow))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Sum up what a workspace has used, by day, agent, model, cron job or kind",
        description:
          "Of the UTC days from `from` up to `to` without it, at most 366: dates, or time stamps, which are widened to whole days; " +
          "without them this month. `key` is the day, the id, `provider/model`, `task` or `turn`; null: none. By day (the default) in order, " +
          "else what has the most tokens first; at most 1,000 rows, and what is left is one more with the key `other`. A run or " +
          "turn counts with its first answer of a model. `costUsd` is null where the cost of any call in the row is not known."
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Usage",
      description: "Tokens, calls and costs, as they were when they were made."
    })
  )
