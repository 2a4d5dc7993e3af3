import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Approval, DecideApproval } from "../Schemas/Approval.ts"
import type { ApprovalId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { ApprovalDecided, NotFound } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { data, pathId, workspaceQuery } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"
import { paging } from "./Paging.ts"

const pages = paging(50)

export const Approvals = HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("list", "/api/approvals", {
      query: { ...workspaceQuery, ...pages.query },
      success: data(Schema.Array(Approval))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the tool calls that wait for approval, oldest first",
        description:
          "`connector`, `address` (without secrets) and `description` say which tool it is; they are null of a " +
          "built-in one. Their runs hold no place meanwhile, and end when nobody has decided by `expiresAt`.",
        transform: pages.transform
      })
    ),
    HttpApiEndpoint.post("decide", "/api/approvals/:id", {
      params: { id: pathId<ApprovalId>() },
      payload: DecideApproval,
      success: data(Approval),
      error: [NotFound, ApprovalDecided]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Allow or reject a tool call",
          description:
            "The first decision wins, any other is a 409. The run goes on at once. The decision is about this " +
            "connector, address, tool, its definition and these arguments: on no other is the call made."
        })
      )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Approvals",
      description: "Decisions about tool calls of runs that wait for them."
    })
  )
