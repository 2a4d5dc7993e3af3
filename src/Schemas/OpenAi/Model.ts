import type { Agent } from "../Agent.ts"
import type { WorkspaceId } from "../Ids.ts"

/** What may be named as a model. */
export interface Model {
  readonly id: string
  readonly object: "model"
  /** In seconds. */
  readonly created: number
  /** The workspace. */
  readonly owned_by: WorkspaceId
  /** What front ends call it, if not by its id. */
  readonly name?: string
}

/** The default behaviour of a workspace, as it is called by `id`. */
export const defaultModel = (id: string, workspaceId: WorkspaceId): Model => ({
  id,
  object: "model",
  created: 0,
  owned_by: workspaceId
})

/** An agent, as it is called by `id`. */
export const modelOf = (id: string, { createdAt, name, workspaceId }: Agent): Model => ({
  id,
  object: "model",
  created: Math.floor(createdAt.getTime() / 1_000),
  owned_by: workspaceId,
  name
})

/** Those that an agent can be meant by: its id, and its name where it is nobody else's and reads as no other thing. */
export const modelsOf = (
  agent: Agent,
  /** What is before a name where there are several workspaces. */
  prefix: string,
  isNamesake: (name: string) => boolean
): ReadonlyArray<Model> => {
  const { id, name } = agent
  const isClear = !isNamesake(name) && name !== "default" && !/^(agent_|ws_[^/]+\/)/.test(name)
  return [modelOf(id, agent), ...(isClear ? [modelOf(`${prefix}${name}`, agent)] : [])]
}
