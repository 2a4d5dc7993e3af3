import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Agent, AgentInactive } from "../Schemas/Agent.ts"
import type { Forbidden, InvalidInput, Unavailable } from "../Schemas/Errors.ts"
import type { AgentId, CronJobId, ProjectId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import { type CreateTask, type Run, type RunStatus, toRun } from "../Schemas/Run.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { References } from "./References.ts"
import { RunRepo } from "./RunRepo.ts"
import { RunWakeup } from "./RunWakeup.ts"

/** What a caller does with tasks and runs (specification, Tasks and runs). */
export class Runs extends Context.Service<
  Runs,
  {
    /** Stores a PENDING run: once this has succeeded, it will be executed. */
    readonly create: (
      user: User,
      input: CreateTask
    ) => Effect.Effect<Run, AgentInactive | Forbidden | InvalidInput | Unavailable>
    /** Newest first, with the number of all that match. */
    readonly list: (
      user: User,
      filter: {
        readonly workspaceId: WorkspaceId
        readonly projectId?: ProjectId | undefined
        readonly status?: RunStatus | undefined
        readonly agentId?: AgentId | undefined
        readonly cronJobId?: CronJobId | undefined
        readonly limit: number
        readonly offset: number
      }
    ) => Effect.Effect<
      { readonly runs: ReadonlyArray<Run>; readonly total: number },
      Forbidden | InvalidInput | Unavailable
    >
  }
>()("agentd/Services/Runs") {
  static readonly layer = Layer.effect(
    Runs,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const references = yield* References
      const repo = yield* RunRepo
      const wakeup = yield* RunWakeup

      return Runs.of({
        create: Effect.fn("Runs.create")(function* (user, input) {
          yield* access.member(user, input.workspaceId)
          const { agent } = yield* references.resolve(input.workspaceId, input)
          yield* requireActive(agent)
          const at = yield* now
          const run = {
            id: yield* ids.make<RunId>("run"),
            workspaceId: input.workspaceId,
            projectId: input.projectId ?? null,
            status: "PENDING" as const,
            prompt: input.prompt,
            output: null,
            createdAt: at,
            updatedAt: at,
            agentId: agent?.id ?? null,
            cronJobId: null,
            autonomyLevel: input.autonomyLevel ?? "semi-autonomous",
            selectedProvider: input.selectedProvider ?? null,
            selectedModel: input.selectedModel ?? null,
            providerKeyId: input.providerKeyId ?? null,
            connectorIds: input.connectorIds ?? null,
            error: null,
            attempts: 0
          }
          yield* repo.insert(run)
          yield* wakeup.notify
          return toRun(run)
        }),
        list: Effect.fn("Runs.list")(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, {
            projectId: filter.projectId,
            agentId: filter.agentId,
            cronJobId: filter.cronJobId
          })
          const { runs, total } = yield* repo.list(filter)
          return { runs: runs.map(toRun), total }
        })
      })
    })
  )
}

/** Refuses work for an agent that is switched off (CONTRACT.md section 2, `agent_inactive`). */
export const requireActive = (agent: Agent | null): Effect.Effect<void, AgentInactive> =>
  agent === null || agent.isActive
    ? Effect.void
    : Effect.fail(new AgentInactive({ error: "agentId: this agent is not active" }))
