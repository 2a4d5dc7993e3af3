import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { RunId, TokenId, UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Rate } from "../Schemas/Rate.ts"

/** What becomes known of a request while it is answered: who asks, and the workspace that it is about. */
export interface RequestFacts {
  requestId?: string
  /** From where it came, past trusted proxies, if that is known. */
  address?: string
  tokenId?: TokenId
  userId?: UserId
  workspaceId?: WorkspaceId
  /** The chat turn that it has begun. */
  turnId?: RunId
  /** The id of the turn that it is to begin, so that who asks again finds it. */
  turnToBegin?: RunId
  /** How the bucket stands that the request was counted in. */
  rate?: Rate
  /** How much of the time until its answer it only waited, as it had asked for. */
  waitedMillis?: number
  /** It was refused since it takes an owner of that workspace. */
  isRightRefused?: boolean
}

/** The request that is being answered, for its line in the log; without one nobody keeps what is known. */
export class CurrentRequest extends Context.Reference<RequestFacts | undefined>(
  "agentd/Services/CurrentRequest",
  { defaultValue: () => undefined }
) {}

/** Keeps what became known. The last word counts. */
export const tell = (facts: RequestFacts): Effect.Effect<void> =>
  Effect.map(CurrentRequest, (current) => {
    if (current !== undefined) Object.assign(current, facts)
  })
