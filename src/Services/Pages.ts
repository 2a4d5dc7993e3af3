import * as Effect from "effect/Effect"
import { ReferenceGone, type Unavailable } from "../Schemas/Errors.ts"
import type { ProjectId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Batch, Extent, Place, Range } from "../Schemas/Page.ts"

/** All of a workspace, or of one of its projects. */
export interface WorkspaceFilter {
  readonly workspaceId: WorkspaceId
  readonly projectId?: ProjectId | undefined
}

/** What a repository has of a list that goes by `createdAt` and id, oldest first. */
export interface Pages<A, F = WorkspaceFilter> {
  /**
   * The first rows of a range, up to its `limit`, the last of which may go over `batchBytes`. `ReferenceGone` where
   * `after` was never seen (`createdAt` is null) and is none of the workspace.
   */
  readonly page: (
    filter: F,
    range: Range<Place>
  ) => Effect.Effect<Batch<A, Place>, ReferenceGone | Unavailable>
  /**
   * How much there is behind `after`, in the first `limit` rows, or in all. No more of them is read than an answer may
   * have.
   */
  readonly extent: (
    filter: F,
    part: { readonly after: Place | null; readonly limit: number | undefined }
  ) => Effect.Effect<Extent<Place>, Unavailable>
}

/** A place that was seen is not refused. */
export const seen = <A, E, R>(
  slice: Effect.Effect<A, E | ReferenceGone, R>
): Effect.Effect<A, Exclude<E, ReferenceGone>, R> =>
  Effect.catchIf(slice, (error) => error instanceof ReferenceGone, Effect.die) as Effect.Effect<
    A,
    Exclude<E, ReferenceGone>,
    R
  >
