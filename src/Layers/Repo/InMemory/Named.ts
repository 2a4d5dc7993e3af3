import * as Effect from "effect/Effect"
import { ReferenceGone } from "../../../Schemas/Errors.ts"
import type { Tables } from "./Store.ts"

/** What a row that is written names, by its fields. */
interface Names {
  readonly projectId?: string | null | undefined
  readonly agentId?: string | null | undefined
  readonly cronJobId?: string | null | undefined
  readonly providerKeyId?: string | null | undefined
  readonly defaultProviderKeyId?: string | null | undefined
  /** Who has to be a member that is not disabled. */
  readonly member?: { readonly workspaceId: string; readonly userId: string } | null
}

export const memberKey = (workspaceId: string, userId: string) => `${workspaceId} ${userId}`

/** Whether somebody may use a workspace. */
export const isMember = ({ members, users }: Tables, workspaceId: string, userId: string): boolean =>
  users.get(userId)?.disabledAt === null && members.has(memberKey(workspaceId, userId))

/** Writes where all that is named is there; else the error says what is not. */
export const unlessGone = <A>(
  tables: Tables,
  names: Names,
  write: () => A
): Effect.Effect<A, ReferenceGone> =>
  Effect.suspend(() => {
    const { agents, cronJobs, projects, providerKeys } = tables
    const { member } = names
    if (member != null && !isMember(tables, member.workspaceId, member.userId)) {
      return new ReferenceGone({ field: "createdBy" })
    }
    const named = [
      ["projectId", names.projectId, projects],
      ["agentId", names.agentId, agents],
      ["cronJobId", names.cronJobId, cronJobs],
      ["providerKeyId", names.providerKeyId, providerKeys],
      ["defaultProviderKeyId", names.defaultProviderKeyId, providerKeys]
    ] as const
    const gone = named.find(([, id, table]) => id != null && !table.has(id))
    return gone === undefined ? Effect.sync(write) : Effect.fail(new ReferenceGone({ field: gone[0] }))
  })
