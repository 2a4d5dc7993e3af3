import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Approval, DecideApproval } from "../Schemas/Approval.ts"
import type { ApprovalId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { ApprovalDecided, NotFound } from "./Errors.ts"
import { data, maxOffset, pathId, wholeNumber, workspaceQuery } from "./Fields.ts"

/** CONTRACT.md section 8: beyond the specification. */
export const Approvals = HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("list", "/api/approvals", {
      query: {
        ...workspaceQuery,
        limit: Schema.optionalKey(wholeNumber(1, 100)),
        offset: Schema.optionalKey(wholeNumber(0, maxOffset))
      },
      success: data(Schema.Array(Approval))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the tool calls that wait for approval, oldest first",
        description: "`limit` is 1 to 100 (50)."
      })
    ),
    HttpApiEndpoint.post("decide", "/api/approvals/:id", {
      params: { id: pathId<ApprovalId>() },
      payload: DecideApproval,
      success: data(Approval),
      error: [NotFound, ApprovalDecided]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Allow or reject a tool call",
        description: "The first decision wins, any other is a 409. The run goes on at once."
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "extension",
      description: "Beyond the specification, by the same conventions."
    })
  )
