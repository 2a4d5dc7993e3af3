import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { CreateProject, Project } from "../Schemas/Project.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { created, data, workspaceQuery } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"

export const Projects = HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("list", "/api/projects", {
      query: workspaceQuery,
      success: data(Schema.Array(Project))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the projects of a workspace, oldest first",
        description: "Projects narrow agents, cron jobs, connectors, runs, conversations and memory."
      })
    ),
    HttpApiEndpoint.post("create", "/api/projects", {
      payload: CreateProject,
      success: created(Project)
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({ summary: "Create a project in a workspace", description: "By any member." })
      )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({
      title: "Projects",
      description: "Parts of a workspace that resources can be narrowed to."
    })
  )
