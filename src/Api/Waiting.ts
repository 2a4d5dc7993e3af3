import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as OpenApi from "effect/http-api/OpenApi"
import { longestWait, shortestWait } from "../Schemas/Prefer.ts"

/**
 * Lets an answer about a run wait for the run (CONTRACT.md section 11), on endpoints that are annotated `AnswersRun`. It
 * is around everything else, authorization included.
 */
export class Waiting extends HttpApiMiddleware.Service<Waiting>()("agentd/Api/Waiting") {}

/** What an endpoint answers: a `Run`, or a `RunDetail`. */
export class AnswersRun extends Context.Reference<"run" | "detail" | undefined>("agentd/Api/AnswersRun", {
  defaultValue: () => undefined
}) {}

interface Operation {
  readonly parameters?: ReadonlyArray<object>
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

const prefer = {
  name: "Prefer",
  in: "header",
  required: false,
  description:
    `\`wait=N\` (RFC 7240): answer when the run is over or waits for people, at the latest after N seconds (${shortestWait} ` +
    `to ${longestWait}). Other preferences are ignored.`,
  schema: { type: "string" },
  example: "wait=30"
}

const preferenceApplied = {
  description: "`wait=N`, where the answer was waited for, also when that was not necessary.",
  schema: { type: "string" }
}

/** What the document says of such an endpoint. A client that needs no such header names none. */
const documented = (operation: Record<string, unknown>) => {
  const { parameters = [], responses } = operation as unknown as Operation
  return {
    ...operation,
    parameters: [...parameters, prefer],
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, answer]) => [
        status,
        status.startsWith("2")
          ? { ...answer, headers: { ...answer.headers, "preference-applied": preferenceApplied } }
          : answer
      ])
    )
  }
}

export const mayWait = (answers: "run" | "detail") =>
  Context.add(OpenApi.annotations({ transform: documented }), AnswersRun, answers)
