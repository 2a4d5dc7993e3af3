import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { version } from "../Schemas/Version.ts"
import { Agents } from "./Agents.ts"
import { Approvals } from "./Approvals.ts"
import { Audit } from "./Audit.ts"
import { Chat } from "./Chat.ts"
import { Connectors } from "./Connectors.ts"
import { CronJobs } from "./CronJobs.ts"
import { completeDocument } from "./Document.ts"
import { codesOf } from "./Errors.ts"
import { eventComponents } from "./EventStream.ts"
import { OpenAiError } from "./Face.ts"
import { Memory } from "./Memory.ts"
import { OpenAi } from "./OpenAi.ts"
import { Projects } from "./Projects.ts"
import { ProviderKeys } from "./ProviderKeys.ts"
import { Runs } from "./Runs.ts"
import { Session } from "./Session.ts"
import { System } from "./System.ts"
import { Tasks } from "./Tasks.ts"
import { Tokens } from "./Tokens.ts"
import { UiStream } from "./UiStream.ts"
import { Usage } from "./Usage.ts"
import { messageComponents } from "./WebhookMessages.ts"
import { Webhooks } from "./Webhooks.ts"
import { Workspaces } from "./Workspaces.ts"

const groups = HttpApi.make("agentd")
  .add(Agents)
  .add(CronJobs)
  .add(Connectors)
  .add(Tasks)
  .add(Runs)
  .add(Approvals)
  .add(Audit)
  .add(Chat)
  .add(Memory)
  .add(Workspaces)
  .add(Projects)
  .add(ProviderKeys)
  .add(Tokens)
  .add(Usage)
  .add(Webhooks)
  .add(OpenAi)
  .add(UiStream)
  .add(Session)
  .add(System)

/** The codes of the errors of each endpoint that are its own. */
const codes = new Map(
  Object.values(groups.groups).flatMap(({ endpoints, identifier }) =>
    Object.values(endpoints).map((endpoint) => [
      `${identifier}.${endpoint.identifier}`,
      codesOf(endpoint.error)
    ])
  )
)

/** The whole contract: what the server implements and clients are derived from. */
export const Api = groups
  .annotate(HttpApi.AdditionalSchemas, [...eventComponents, ...messageComponents, OpenAiError])
  // What an answer holds was decoded when it was read.
  .annotate(HttpApi.SuccessParseOptions, { disableChecks: true })
  .annotateMerge(
    OpenApi.annotations({
      title: "agentd",
      version,
      transform: completeDocument((operationId) => codes.get(operationId) ?? {}),
      description:
        "Orchestrates AI agents: agents, tasks and runs, schedules, connectors, memory, chat over SSE. " +
        "Under /api an unknown query parameter is a 400; an unknown field of a body is ignored."
    })
  )
