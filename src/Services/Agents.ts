import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Agent, type CreateAgent, toAgent, type UpdateAgent } from "../Schemas/Agent.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import {
  type Forbidden,
  type InvalidInput,
  type NotFound,
  notFound,
  type Unavailable
} from "../Schemas/Errors.ts"
import type { AgentId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import * as Listing from "./Listing.ts"
import type { WorkspaceFilter } from "./Pages.ts"
import { orUnknown, References } from "./References.ts"
import { Settings } from "./Settings.ts"

const onlyOwnerSetsKeys = "providerKeyId: only an owner of the workspace may set it"

/** What a caller does with agents (specification, Agents). */
export class Agents extends Context.Service<
  Agents,
  {
    /** With a provider key: by an owner. */
    readonly create: (
      user: User,
      input: CreateAgent
    ) => Effect.Effect<Agent, Forbidden | InvalidInput | PlanLimitExceeded | Unavailable>
    readonly list: (
      user: User,
      filter: WorkspaceFilter & Listing.PageQuery
    ) => Effect.Effect<Listing.Listing<Agent>, Forbidden | InvalidInput | Unavailable>
    readonly get: (user: User, id: AgentId) => Effect.Effect<Agent, NotFound | Unavailable>
    readonly remove: (user: User, id: AgentId) => Effect.Effect<void, NotFound | Unavailable>
    /** Where it changes the provider key: by an owner. */
    readonly update: (
      user: User,
      id: AgentId,
      patch: UpdateAgent
    ) => Effect.Effect<Agent, Forbidden | NotFound | InvalidInput | Unavailable>
  }
>()("agentd/Services/Agents") {
  static readonly layer = Layer.effect(
    Agents,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const references = yield* References
      const repo = yield* AgentRepo
      const { quotas } = yield* Settings

      const get = Effect.fnUntraced(function* (user: User, id: AgentId) {
        return yield* access.visible(user, "agent", yield* repo.find(id))
      })

      return Agents.of({
        get: (user, id) => Effect.map(get(user, id), toAgent),
        create: Effect.fnUntraced(function* (user, input) {
          yield* input.providerKeyId == null
            ? access.member(user, input.workspaceId)
            : access.owner(user, input.workspaceId, onlyOwnerSetsKeys)
          yield* references.resolve(input.workspaceId, input)
          const at = yield* now
          const agent = {
            id: yield* ids.make<AgentId>("agent"),
            workspaceId: input.workspaceId,
            projectId: input.projectId ?? null,
            name: input.name,
            description: input.description ?? null,
            systemPrompt: input.systemPrompt ?? null,
            isActive: true,
            providerKeyId: input.providerKeyId ?? null,
            createdAt: at,
            updatedAt: at
          }
          return yield* orUnknown(repo.insert(agent, quotas.agents).pipe(audited("agent.create", agent)))
        }),
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, { projectId: filter.projectId })
          return yield* Listing.ofPages(repo, filter, filter)
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const agent = yield* get(user, id)
          if (!(yield* repo.remove(id).pipe(audited("agent.delete", agent)))) return yield* notFound("agent")
        }),
        update: Effect.fnUntraced(function* (user, id, patch) {
          const agent = yield* get(user, id)
          if (patch.providerKeyId !== undefined && patch.providerKeyId !== agent.providerKeyId) {
            yield* access.owner(user, agent.workspaceId, onlyOwnerSetsKeys)
          }
          yield* references.resolve(agent.workspaceId, { providerKeyId: patch.providerKeyId })
          const updated = yield* orUnknown(
            repo.update(id, patch, yield* now).pipe(audited("agent.update", agent))
          )
          return Option.isSome(updated) ? updated.value : yield* notFound("agent")
        })
      })
    })
  )
}
