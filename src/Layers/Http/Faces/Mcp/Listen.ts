import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { RunId } from "../../../../Schemas/Ids.ts"
import { isEnd, type NumberedEvent } from "../../../../Schemas/RunEvent.ts"
import * as DatabaseWait from "../../../../Services/DatabaseWait.ts"
import { Runs } from "../../../../Services/Runs.ts"
import type { Asked } from "./Exchange.ts"
import { headerOf } from "./Exchange.ts"
import { type Frame, spoken } from "./Follow.ts"
import { notificationMessage, resultMessage } from "./Messages.ts"
import { sent } from "./Sent.ts"
import type * as Tasks from "./Tasks.ts"

/** What is worth a look at the task: it is over, waits for people, or goes on behind that. */
const isNews = ({ event }: NumberedEvent): boolean =>
  isEnd(event) || (event.event === "status" && event.data.status !== "responding")

/**
 * `subscriptions/listen`: what becomes of some tasks, each time in full, until all are over. Of a task that there is not, or that
 * is not for the caller, nothing is told. Lists of tools are looked at again when they are old (`ttlMs`): of them nothing is told either.
 */
export const make = Effect.fnUntraced(function* (tasks: Effect.Success<typeof Tasks.make>) {
  const runs = yield* Runs

  return (asked: Asked, taskIds: ReadonlyArray<RunId>): Stream.Stream<Frame> => {
    const { caller, exchange, request } = asked
    const _meta = { "io.modelcontextprotocol/subscriptionId": request.id }
    const frame = (message: Schema.JsonObject | undefined, isLast = false): Frame => ({ message, isLast })
    const told = (runId: RunId) => {
      const params = { taskId: runId }
      return tasks.get({ caller, exchange, header: headerOf(asked), params }).pipe(
        Effect.map((task) => frame(notificationMessage("notifications/tasks", { ...task, _meta }))),
        Effect.option,
        Effect.map(Option.getOrElse(() => frame(undefined))),
        DatabaseWait.together
      )
    }
    const ofTask = (runId: RunId): Stream.Stream<Frame> =>
      Stream.unwrap(
        Effect.map(
          DatabaseWait.together(runs.events(caller, runId, 0)),
          Option.getOrElse(() => Stream.empty)
        )
      ).pipe(
        Stream.catch(() => Stream.empty),
        spoken,
        Stream.filter((event) => event === "silence" || isNews(event)),
        Stream.mapEffect((event) => (event === "silence" ? Effect.succeed(frame(undefined)) : told(runId)))
      )
    const seen = Effect.filter(taskIds, (taskId) =>
      tasks.get({ caller, exchange, header: headerOf(asked), params: { taskId } }).pipe(
        Effect.as(true),
        Effect.orElseSucceed(() => false)
      )
    )
    return Stream.unwrap(
      Effect.map(seen, (known) => {
        const notifications =
          known.length > 0 ? { taskIds: known as ReadonlyArray<string> as Array<string> } : {}
        const acknowledged = notificationMessage("notifications/subscriptions/acknowledged", {
          _meta,
          notifications
        })
        return Stream.succeed(frame(acknowledged)).pipe(
          Stream.concat(Stream.mergeAll(known.map(ofTask), { concurrency: "unbounded" })),
          Stream.concat(Stream.succeed(frame(resultMessage(request.id, sent(exchange, { _meta })), true)))
        )
      })
    )
  }
})
