import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { Agents } from "./Agents.ts"
import { Chat } from "./Chat.ts"
import { Runs } from "./Runs.ts"
import { System } from "./System.ts"
import { Tasks } from "./Tasks.ts"

/** The whole contract: what the server implements and clients are derived from. */
export const Api = HttpApi.make("agentd")
  .add(Agents)
  .add(Tasks)
  .add(Runs)
  .add(Chat)
  .add(System)
  .annotateMerge(
    OpenApi.annotations({
      title: "agentd",
      version: "1.0.0",
      description: "Orchestrates AI agents: agents, tasks and runs, chat over Server-Sent Events."
    })
  )
