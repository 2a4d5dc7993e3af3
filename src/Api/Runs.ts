import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { AgentId, CronJobId, RunId } from "../Schemas/Ids.ts"
import { Run, RunDetail, RunStatus } from "../Schemas/Run.ts"
import { RunTimeline } from "../Schemas/RunTimeline.ts"
import { RunUsage } from "../Schemas/UsageReport.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { NotFound, NotRetryableOrInactive, RateLimited, RunFinished } from "./Errors.ts"
import { EventStream, runStream, tells } from "./EventStream.ts"
import { extension } from "./Extension.ts"
import { data, listQuery, pathId, wholeNumber } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"
import { pagingBehind } from "./Paging.ts"
import { mayWait, Waiting } from "./Waiting.ts"

const pages = pagingBehind(20, RunId)

export const Runs = HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/api/runs", {
      query: {
        ...listQuery,
        status: Schema.optionalKey(RunStatus),
        agentId: Schema.optionalKey(AgentId),
        cronJobId: Schema.optionalKey(CronJobId),
        ...pages.query
      },
      success: Schema.Struct({ data: Schema.Array(Run), total: Schema.Int })
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List runs, newest first",
        description:
          "`total` counts all that match. A page is told by `offset` or by `after`, which skips and repeats none while " +
          "others are created. An answer has at most 32 MiB: over that it is a 400 that asks for a smaller `limit`.",
        transform: pages.transform
      })
    ),
    HttpApiEndpoint.get("get", "/api/runs/:id", {
      params: { id: pathId<RunId>() },
      success: data(RunDetail),
      error: NotFound
    })
      .annotateMerge(mayWait("detail"))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a run with its steps, attempts, usage, times and error",
          description:
            "What the model said and the tools answered, in order, for as long as the journal is kept (30 days after the end).",
          ...extension
        })
      ),
    HttpApiEndpoint.get("timeline", "/api/runs/:id/timeline", {
      params: { id: pathId<RunId>() },
      success: data(RunTimeline),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Say what a run or a chat turn did and waited for, along time",
        description:
          "`spans` are in order: waiting for a place, answers of the model, calls of tools, approvals, and where no node " +
          "had it until another took it over. Steps and what was asked are there for as long as the journal is kept.",
        ...extension
      })
    ),
    HttpApiEndpoint.get("usage", "/api/runs/:id/usage", {
      params: { id: pathId<RunId>() },
      success: data(RunUsage),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Say what a run or a chat turn has used so far, and what it cost",
        description: "`costUsd` is null where the cost of any of its calls is not known.",
        ...extension
      })
    ),
    HttpApiEndpoint.post("cancel", "/api/runs/:id/cancel", {
      params: { id: pathId<RunId>() },
      success: data(RunDetail),
      error: [NotFound, RunFinished]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Cancel a run",
          description:
            "Cancelling it again changes nothing; 409 once it is COMPLETED or FAILED. Of a chat turn: the answer.",
          ...extension
        })
      ),
    HttpApiEndpoint.post("retry", "/api/runs/:id/retry", {
      params: { id: pathId<RunId>() },
      success: data(RunDetail),
      error: [NotFound, NotRetryableOrInactive]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Make a FAILED or CANCELLED task go on",
          description:
            "It is PENDING again, and goes on behind its last finished step: none is done again. Only an answer of the " +
            "model that was cut off is asked for anew. 409 for one that is not over, COMPLETED, a chat turn, or so old " +
            "that its steps are forgotten; of those who retry it at the same time one does.",
          ...extension
        })
      ),
    HttpApiEndpoint.get("events", "/api/runs/:id/events", {
      params: { id: pathId<RunId>() },
      headers: { "last-event-id": Schema.optionalKey(wholeNumber(0, Number.MAX_SAFE_INTEGER)) },
      success: [
        EventStream,
        HttpApiSchema.NoContent.annotate({ description: "`Last-Event-ID` is the end, or behind it." })
      ],
      error: [NotFound, RateLimited]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the past and coming events of a run or a chat turn",
        description:
          "Server-Sent Events `status`, `tool_call`, `tool_result` (of a chat turn `conversation` first), then " +
          "exactly one of `done` and `error`. `Last-Event-ID` takes a stream up again behind that event; behind " +
          "the end the answer is a 204, at which an `EventSource` stops.",
        transform: tells(runStream),
        ...extension
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .middleware(Waiting)
  .annotateMerge(OpenApi.annotations({ title: "Runs", description: "The execution of tasks." }))
