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
}

/** Writes where all that is named is there; else the error says what is not. */
export const unlessGone = <A>(
  { agents, cronJobs, projects, providerKeys }: Tables,
  names: Names,
  write: () => A
): Effect.Effect<A, ReferenceGone> =>
  Effect.suspend(() => {
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
