import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Budget, PutBudget } from "../Schemas/Budget.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import { WorkspaceUsage } from "../Schemas/QuotaUsage.ts"
import { AddMember, CreateWorkspace, Member, UpdateWorkspace, WorkspaceView } from "../Schemas/Workspace.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound, RateLimited } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, pathId, removed } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"

const workspaces = "/api/workspaces"

export const Workspaces = HttpApiGroup.make("workspaces")
  .add(
    HttpApiEndpoint.get("list", workspaces, { success: data(Schema.Array(WorkspaceView)) }).annotateMerge(
      OpenApi.annotations({
        summary: "List the caller's workspaces, oldest first",
        description: "With the caller's role in each."
      })
    ),
    HttpApiEndpoint.post("create", workspaces, {
      payload: CreateWorkspace,
      success: created(WorkspaceView)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a workspace, which the caller then owns",
          description: "On the free plan. Whoever runs the service changes plans on the command line."
        })
      ),
    HttpApiEndpoint.get("get", `${workspaces}/:id`, {
      params: { id: pathId<WorkspaceId>() },
      success: data(WorkspaceView),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({ summary: "Read a workspace", description: "With the caller's role in it." })
    ),
    HttpApiEndpoint.patch("update", `${workspaces}/:id`, {
      params: { id: pathId<WorkspaceId>() },
      payload: UpdateWorkspace,
      success: data(WorkspaceView),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Rename a workspace or set its default provider key, by an owner",
        description: "An absent field stays; null clears `defaultProviderKeyId`."
      })
    ),
    HttpApiEndpoint.get("usage", `${workspaces}/:id/usage`, {
      params: { id: pathId<WorkspaceId>() },
      success: data(WorkspaceUsage),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Say how much of what its plan allows a workspace has, and how its budget stands",
        description:
          "`budget` is that of this month in UTC. `workspacesOwned` and `tokens` are those of the caller, by the best plan of the workspaces that the caller " +
          "owns. One more than the limit is a 403 (`plan_limit_exceeded`) that names the quota."
      })
    ),
    HttpApiEndpoint.get("budget", `${workspaces}/:id/budget`, {
      params: { id: pathId<WorkspaceId>() },
      success: data(Budget),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read what a workspace may spend on models",
        description: "By any member. Null is no limit. How much is spent: `GET /api/workspaces/{id}/usage`."
      })
    ),
    HttpApiEndpoint.put("putBudget", `${workspaces}/:id/budget`, {
      params: { id: pathId<WorkspaceId>() },
      payload: PutBudget,
      success: data(Budget),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set what a workspace may spend on models, by an owner",
        description:
          "Replaces the whole: a field that is absent has no limit. Of a month in UTC, and of one run or turn. What is " +
          "booked goes over a limit by one call of a model at most. A run that meets it waits for calls that are under " +
          "way, and then ends FAILED (`budget_exceeded`) with its steps kept; new work is a 403. With a limit in " +
          "dollars a model whose price is not known is not asked."
      })
    ),
    HttpApiEndpoint.get("members", `${workspaces}/:id/members`, {
      params: { id: pathId<WorkspaceId>() },
      success: data(Schema.Array(Member)),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the members of a workspace, oldest first",
        description: "Owners and members alike see who else there is, and who is invited; others get a 404."
      })
    ),
    HttpApiEndpoint.post("addMember", `${workspaces}/:id/members`, {
      params: { id: pathId<WorkspaceId>() },
      payload: AddMember,
      success: created(Member),
      error: [NotFound, RateLimited]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Add a user by e-mail, or change its role, by an owner",
          description:
            "Whoever has this e-mail, now or one day, may use the workspace at once and is shown as `isPending` until then: nobody is told whether there is such a user. Adding somebody who is there already changes the role; the last owner stays one, and who is pending is none yet. A workspace has 1,000 members at most; a user invites 60 at once and then one a minute."
        })
      ),
    HttpApiEndpoint.delete("removeMember", `${workspaces}/:id/members/:userId`, {
      params: { id: pathId<WorkspaceId>(), userId: pathId<UserId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Remove a member, by an owner, or leave",
        description:
          "Their tokens find the workspace no more, at once, and the cron jobs that they answer for are switched off. The last owner can't be removed, nor leave. An invitation ends by its id."
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({ title: "Workspaces", description: "The unit of tenancy, with its members." })
  )
