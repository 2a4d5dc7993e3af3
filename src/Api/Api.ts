import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { Agents, AgentsExtension } from "./Agents.ts"
import { Approvals } from "./Approvals.ts"
import { Chat } from "./Chat.ts"
import { Connectors, ConnectorsExtension } from "./Connectors.ts"
import { Credentials } from "./Credentials.ts"
import { CronJobs, CronJobsExtension } from "./CronJobs.ts"
import { completeDocument } from "./Document.ts"
import { Memory, MemoryExtension } from "./Memory.ts"
import { Runs, RunsExtension } from "./Runs.ts"
import { System } from "./System.ts"
import { Tasks } from "./Tasks.ts"
import { Workspaces } from "./Workspaces.ts"

/** The whole contract: what the server implements and clients are derived from. */
export const Api = HttpApi.make("agentd")
  .add(Agents, AgentsExtension)
  .add(CronJobs, CronJobsExtension)
  .add(Connectors, ConnectorsExtension)
  .add(Tasks)
  .add(Approvals)
  .add(Runs, RunsExtension)
  .add(Chat)
  .add(Memory, MemoryExtension)
  .add(Workspaces)
  .add(Credentials)
  .add(System)
  .annotateMerge(
    OpenApi.annotations({
      title: "agentd",
      version: "1.0.0",
      transform: completeDocument,
      description:
        "Orchestrates AI agents: agents, tasks and runs, schedules, connectors, memory, chat over SSE."
    })
  )
