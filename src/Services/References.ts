import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { StoredAgent } from "../Schemas/Agent.ts"
import type { StoredConversation } from "../Schemas/Conversation.ts"
import { type InvalidInput, ReferenceGone, type Unavailable, unknownReference } from "../Schemas/Errors.ts"
import type {
  AgentId,
  ConversationId,
  CronJobId,
  ProjectId,
  ProviderKeyId,
  WorkspaceId
} from "../Schemas/Ids.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { ConnectorRepo } from "./ConnectorRepo.ts"
import { ConversationRepo } from "./ConversationRepo.ts"
import { CronJobRepo } from "./CronJobRepo.ts"
import { ProjectRepo } from "./ProjectRepo.ts"
import { ProviderKeyRepo } from "./ProviderKeyRepo.ts"

/** The ids that a body or query may name. */
export interface Referred {
  readonly projectId?: ProjectId | null | undefined
  readonly agentId?: AgentId | null | undefined
  readonly cronJobId?: CronJobId | null | undefined
  readonly providerKeyId?: ProviderKeyId | null | undefined
  readonly conversationId?: ConversationId | null | undefined
  readonly connectorIds?: ReadonlyArray<string> | undefined
}

/** For what a request names that was deleted behind the check: what would be said a moment later. */
export const orUnknown = <A, E, R>(effect: Effect.Effect<A, E | ReferenceGone, R>) =>
  Effect.catchIf(
    effect,
    (error) => error instanceof ReferenceGone,
    ({ field }) => unknownReference(field)
  ) as Effect.Effect<A, Exclude<E, ReferenceGone> | InvalidInput, R>

/**
 * Whether the ids that a request names exist in its workspace, checked in one place: absent and foreign
 * are the same `InvalidInput` (CONTRACT.md section 2).
 */
export class References extends Context.Service<
  References,
  {
    readonly resolve: (
      workspaceId: WorkspaceId,
      referred: Referred
    ) => Effect.Effect<
      { readonly agent: StoredAgent | null; readonly conversation: StoredConversation | null },
      InvalidInput | Unavailable
    >
  }
>()("agentd/Services/References") {
  static readonly layer = Layer.effect(
    References,
    Effect.gen(function* () {
      const agents = yield* AgentRepo
      const connectors = yield* ConnectorRepo
      const conversations = yield* ConversationRepo
      const cronJobs = yield* CronJobRepo
      const projects = yield* ProjectRepo
      const providerKeys = yield* ProviderKeyRepo

      const within = <I, A extends { readonly workspaceId: WorkspaceId }>(
        workspaceId: WorkspaceId,
        field: string,
        id: I | null | undefined,
        find: (id: I) => Effect.Effect<Option.Option<A>, Unavailable>
      ): Effect.Effect<A | null, InvalidInput | Unavailable> =>
        id === null || id === undefined
          ? Effect.succeed(null)
          : Effect.flatMap(find(id), (found) =>
              Option.isSome(found) && found.value.workspaceId === workspaceId
                ? Effect.succeed(found.value)
                : unknownReference(field)
            )

      return References.of({
        resolve: Effect.fnUntraced(function* (workspaceId, referred) {
          yield* within(workspaceId, "projectId", referred.projectId, projects.find)
          yield* within(workspaceId, "cronJobId", referred.cronJobId, cronJobs.find)
          yield* within(workspaceId, "providerKeyId", referred.providerKeyId, providerKeys.find)
          const connectorIds = Array.from(new Set(referred.connectorIds))
          if ((yield* connectors.countOf(workspaceId, connectorIds)) < connectorIds.length) {
            return yield* unknownReference("connectorIds")
          }
          return {
            agent: yield* within(workspaceId, "agentId", referred.agentId, agents.find),
            conversation: yield* within(
              workspaceId,
              "conversationId",
              referred.conversationId,
              conversations.find
            )
          }
        })
      })
    })
  )
}
