import * as Schema from "effect/Schema"
import { WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"

export const Plan = Schema.Literals(["free", "pro"])
export type Plan = typeof Plan.Type

export const Role = Schema.Literals(["owner", "member"])
export type Role = typeof Role.Type

export const WorkspaceName = text(1, 100)

/** The unit of tenancy: nothing in one workspace can be seen from another. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  name: WorkspaceName,
  plan: Plan,
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type Workspace = typeof Workspace.Type
