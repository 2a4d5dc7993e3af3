import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Role } from "../Schemas/Workspace.ts"
import type { TokenOwner } from "./TokenRepo.ts"

/** For how long what was found of somebody's rights may be told again, in milliseconds of the monotonic clock. */
export const rightsMillis = 1_000

/**
 * What a request asks of its caller, remembered for at most `rightsMillis` since the database was asked, so that a
 * token in use costs one look a second. What this node changes of a user is known here at once: when the change is
 * answered, nothing from before it is told any more. Other nodes hear of it from the database, and know it after
 * `rightsMillis` if they do not. That somebody has no right is never remembered, and within a transaction nothing is.
 */
export class Rights extends Context.Service<
  Rights,
  {
    /** As `TokenRepo.findOwned`. A token that expires meanwhile is told as well: look at it. */
    readonly owned: (hash: string) => Effect.Effect<Option.Option<TokenOwner>, Unavailable>
    /** As `WorkspaceRepo.role`. */
    readonly role: (id: WorkspaceId, userId: UserId) => Effect.Effect<Option.Option<Role>, Unavailable>
  }
>()("agentd/Services/Rights") {}
