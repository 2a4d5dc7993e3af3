import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { CreateTask, Run } from "../Schemas/Run.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { AgentInactive } from "./Errors.ts"
import { created } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"
import { mayWait, Waiting } from "./Waiting.ts"

export const Tasks = HttpApiGroup.make("tasks")
  .add(
    HttpApiEndpoint.post("create", "/api/tasks", {
      payload: CreateTask,
      success: created(Run),
      error: AgentInactive
    })
      .middleware(Idempotency)
      .annotateMerge(mayWait("run"))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send a task to an agent",
          description:
            "Creates a PENDING run, which is then executed in the background: at once, or with `runAt` (a time stamp with " +
            "its offset, up to a year ahead) as soon as it is due."
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .middleware(Waiting)
  .annotateMerge(OpenApi.annotations({ title: "Tasks", description: "Instructions for agents." }))
