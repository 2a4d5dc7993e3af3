import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { AuditEntry } from "../Schemas/Audit.ts"
import { AuditEntryId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { data, workspaceQuery } from "./Fields.ts"
import { paging } from "./Paging.ts"

const pages = paging(50, 1000)

export const Audit = HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/api/audit", {
      query: { ...workspaceQuery, limit: pages.query.limit, after: Schema.optionalKey(AuditEntryId) },
      success: data(Schema.Array(AuditEntry))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List who did what in a workspace, newest first, by an owner",
        description:
          "Every change, decision and sign-in of a member, each refused right of owners, and the use of stored secrets. " +
          "Ids alone, no text of anybody. `after` is the id of the last entry seen: what is older comes. " +
          "While there is more, the header `X-Next-After` says what the next `after` is.",
        transform: pages.transform
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "Who did what, and when." }))
