import * as Schema from "effect/Schema"
import { ProjectId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** A part of a workspace that agents, runs, conversations and memory can be narrowed to. */
export const Project = Schema.Struct({
  id: ProjectId,
  workspaceId: WorkspaceId,
  name: text(1, 100),
  createdAt: Timestamp
}).annotate({ identifier: "Project" })
export type Project = typeof Project.Type

export const CreateProject = Schema.Struct({ workspaceId: WorkspaceId, name: text(1, 100) }).annotate({
  identifier: "CreateProject"
})
export type CreateProject = typeof CreateProject.Type
