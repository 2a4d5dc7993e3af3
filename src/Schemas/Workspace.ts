import * as Schema from "effect/Schema"
import { ProviderKeyId, UserId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import type { Email } from "./User.ts"

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
  /** The key that answers where a request and its agent name none; null: the oldest of the workspace. */
  defaultProviderKeyId: Schema.NullOr(ProviderKeyId),
  createdAt: Timestamp,
  updatedAt: Timestamp
})
export type Workspace = typeof Workspace.Type

/** A workspace that is to be stored. */
export const newWorkspace = (given: {
  readonly id: WorkspaceId
  readonly name: string
  readonly plan: Plan
  readonly at: Date
}): Workspace => ({
  id: given.id,
  name: given.name,
  plan: given.plan,
  defaultProviderKeyId: null,
  createdAt: given.at,
  updatedAt: given.at
})

/** A workspace as a caller sees it: with the caller's own role. */
export const WorkspaceView = Schema.Struct({ ...Workspace.fields, role: Role }).annotate({
  identifier: "Workspace"
})
export type WorkspaceView = typeof WorkspaceView.Type

export const CreateWorkspace = Schema.Struct({ name: WorkspaceName }).annotate({
  identifier: "CreateWorkspace"
})
export type CreateWorkspace = typeof CreateWorkspace.Type

export const UpdateWorkspace = Schema.Struct({
  name: Schema.optionalKey(WorkspaceName),
  defaultProviderKeyId: Schema.optionalKey(Schema.NullOr(ProviderKeyId))
}).annotate({
  identifier: "UpdateWorkspace"
})
export type UpdateWorkspace = typeof UpdateWorkspace.Type

export const Member = Schema.Struct({
  userId: UserId.annotate({
    description: "While `isPending` it is that of the invitation, by which this one can be removed later too."
  }),
  email: Schema.String,
  role: Role,
  isPending: Schema.Boolean.annotate({
    description: "Invited, and not been in the workspace yet. Nobody is told whether there is such a user."
  }),
  createdAt: Timestamp
}).annotate({ identifier: "Member" })
export type Member = typeof Member.Type

/** A member with the id of the invitation that it was, null: it never was one. */
export const StoredMember = Schema.Struct({ ...Member.fields, invitationId: Schema.NullOr(UserId) })
export type StoredMember = typeof StoredMember.Type

export const toMember = ({ invitationId: _, ...member }: StoredMember): Member => member

/** Who is added by e-mail, under an id that tells nothing of the user. */
export interface Invitation {
  readonly id: UserId
  readonly email: Email
  readonly role: Role
  readonly createdAt: Date
}

export const AddMember = Schema.Struct({ email: text(3, 254), role: Schema.optionalKey(Role) }).annotate({
  identifier: "AddMember"
})
export type AddMember = typeof AddMember.Type

/** How many members a workspace has at most, with those who are invited. */
export const mostMembers = 1_000

/** How many connectors may be active at once; null is no limit (specification, Limits). */
export const activeConnectorLimit = (plan: Plan): number | null => (plan === "free" ? 5 : null)

/** Whether a user is the only owner, whom a workspace has to keep. Who is only invited is none yet. */
export const isOnlyOwner = (members: ReadonlyArray<Member>, userId: UserId): boolean => {
  const owners = members.filter(({ isPending, role }) => role === "owner" && !isPending)
  return owners.length === 1 && owners[0]?.userId === userId
}
