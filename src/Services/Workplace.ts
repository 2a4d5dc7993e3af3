import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { StoredAgent } from "../Schemas/Agent.ts"
import { type Forbidden, InvalidInput, NotFound, type Unavailable } from "../Schemas/Errors.ts"
import type { AgentId, WorkspaceId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** What of a request says where it belongs. */
export interface Named {
  /** `X-Workspace-Id`. */
  readonly header: string | undefined
  /** An agent by its id or name, or `default`, each of them also behind `ws_…/`. Undefined: the workspace alone is asked for. */
  readonly named?: string | undefined
  /** What the request calls `named`, for whoever reads the refusal. */
  readonly field?: string
}

/** Where work is done, and by which agent; null: the workspace's default behaviour. */
export interface Place {
  readonly workspaceId: WorkspaceId
  readonly agent: StoredAgent | null
}

const mostWorkspaces = 100

/** What stands for the default behaviour of a workspace where an agent is named. */
export const defaultAgent = "default"

/** In which workspace a request belongs that names none as ours do (CONTRACT.md section 14). */
export class Workplace extends Context.Service<
  Workplace,
  {
    /**
     * The workspace that is said (`X-Workspace-Id`, or before the `/` of what is named), that of the agent whose id is
     * named, or else the caller's only one. `InvalidInput` says what to send where that leaves several, or an agent of
     * this name is not the only one; `NotFound` where there is no such agent that the caller can see; `Forbidden` where
     * the caller is no member of the workspace that is said. Whether an agent is active is looked at by who gives it
     * work.
     */
    readonly resolve: (
      user: User,
      named: Named
    ) => Effect.Effect<Place, Forbidden | InvalidInput | NotFound | Unavailable>
    /**
     * Which workspaces a request may mean that names no agent: the one that is said, or else those of the caller, by age, a
     * hundred at most.
     */
    readonly among: (
      user: User,
      header: string | undefined
    ) => Effect.Effect<ReadonlyArray<WorkspaceId>, Forbidden | Unavailable>
  }
>()("agentd/Services/Workplace") {
  static readonly layer = Layer.effect(
    Workplace,
    Effect.gen(function* () {
      const access = yield* Access
      const agents = yield* AgentRepo
      const onlyWorkspace = yield* makeOnlyWorkspace

      const byId = Effect.fnUntraced(function* (user: User, id: string) {
        if (!id.startsWith("agent_")) return Option.none<StoredAgent>()
        const found = yield* agents.find(id as AgentId)
        return yield* access.visible(user, "agent", found).pipe(
          Effect.asSome,
          Effect.catchTag("NotFound", () => Effect.succeedNone)
        )
      })

      const byName = Effect.fnUntraced(function* (workspaceId: WorkspaceId, name: string, field: string) {
        const [first, second] = yield* agents.named(workspaceId, name)
        if (first === undefined) return yield* noAgent(field)
        return second?.isActive === true ? yield* notOnly(field) : first
      })

      const workspaces = yield* WorkspaceRepo

      return Workplace.of({
        among: Effect.fnUntraced(function* (user, header) {
          if (header !== undefined) {
            yield* access.member(user, header as WorkspaceId)
            return [header as WorkspaceId]
          }
          const members = yield* workspaces.page({ userId: user.id, after: null, limit: mostWorkspaces })
          return members.map(({ id }) => id)
        }),
        resolve: Effect.fnUntraced(function* (user, { field = "model", header, named }) {
          const { name, said } = yield* saidOf(header, named, field)
          if (said !== undefined) yield* access.member(user, said)
          const known = name === undefined ? Option.none() : yield* byId(user, name)
          if (Option.isSome(known)) {
            const agent = known.value
            if (said !== undefined && agent.workspaceId !== said) return yield* noAgent(field)
            return { workspaceId: agent.workspaceId, agent }
          }
          const workspaceId = said ?? (yield* onlyWorkspace(user, name === undefined ? undefined : field))
          if (said === undefined) yield* access.member(user, workspaceId)
          const agent =
            name === undefined || name === defaultAgent ? null : yield* byName(workspaceId, name, field)
          return { workspaceId, agent }
        })
      })
    })
  )
}

/** The workspace that is said, and the agent without it. */
const saidOf = Effect.fnUntraced(function* (
  header: string | undefined,
  named: string | undefined,
  field: string
) {
  const [, before, behind] = /^(ws_[^/]+)\/(.*)$/su.exec(named ?? "") ?? []
  const [workspace, name] = before === undefined ? [header, named] : [before, behind]
  if (header !== undefined && workspace !== header) {
    return yield* new InvalidInput({ error: `${field}: names another workspace than X-Workspace-Id` })
  }
  return {
    said: workspace as WorkspaceId | undefined,
    name: name === undefined || name === "" ? undefined : name
  }
})

const makeOnlyWorkspace = Effect.gen(function* () {
  const workspaces = yield* WorkspaceRepo
  return Effect.fnUntraced(function* (user: User, field: string | undefined) {
    const members = yield* workspaces.page({ userId: user.id, after: null, limit: 2 })
    // One who was only invited is a member by the first use.
    const [first, second] = members.length > 0 ? members : yield* workspaces.list(user.id)
    if (first !== undefined && second === undefined) return first.id
    const other = field === undefined ? "" : `, or ${field} must begin with its id and a /`
    return yield* new InvalidInput({
      error:
        first === undefined
          ? "X-Workspace-Id: you are a member of no workspace"
          : `X-Workspace-Id: must name one of your workspaces, of which you have several${other}`
    })
  })
})

const noAgent = (field: string) =>
  new NotFound({ error: `${field}: there is no agent of this id or name that you can see` })

const notOnly = (field: string) =>
  new InvalidInput({ error: `${field}: several agents have this name; use the id of one` })
