import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Counted } from "../Schemas/QuotaUsage.ts"

/** How much there is of what has a quota (CONTRACT.md section 10). What is deleted does not count, at once. */
export class QuotaRepo extends Context.Service<
  QuotaRepo,
  {
    /**
     * All of one moment; tokens as they are at `now`. It looks at counts that are kept, and else at no more than the
     * user has. None when there is no such workspace.
     */
    readonly count: (
      workspaceId: WorkspaceId,
      userId: UserId,
      now: Date
    ) => Effect.Effect<Option.Option<Counted>, Unavailable>
  }
>()("agentd/Services/QuotaRepo") {}
