import * as Effect from "effect/Effect"
import type { Place, Range } from "../../../../Schemas/Page.ts"
import { toRun } from "../../../../Schemas/Run.ts"
import type { RunFilter, RunRepo } from "../../../../Services/RunRepo.ts"
import { inOrder } from "../Order.ts"
import { extentOf, pageOf, rangeOf } from "../Slices.ts"
import type { Tables } from "../Store.ts"

const oldestFirst = inOrder("createdAt")
const newestFirst: typeof oldestFirst = (a, b) => oldestFirst(b, a)

/** The lists of tasks, newest first. */
export const make = ({
  runs
}: Tables): Pick<RunRepo["Service"], "list" | "foldTotals" | "extent" | "slice"> => {
  const matching = (
    { agentId, cronJobId, projectId, status, workspaceId }: RunFilter,
    range: Omit<Range<Place>, "limit">
  ) =>
    Effect.suspend(() => {
      const scope = Array.from(runs.values()).filter(
        (run) => run.turn === null && run.workspaceId === workspaceId
      )
      const found = scope
        .filter((run) => projectId === undefined || run.projectId === projectId)
        .filter((run) => status === undefined || run.status === status)
        .filter((run) => agentId === undefined || run.agentId === agentId)
        .filter((run) => cronJobId === undefined || run.cronJobId === cronJobId)
      return Effect.map(rangeOf(found, scope, range, newestFirst), (rows) => ({
        // What no list shows.
        rows: rows.map((run) => ({ ...run, policy: null })),
        total: found.length
      }))
    })

  return {
    list: ({ after = null, limit, offset, ...filter }) =>
      Effect.map(matching(filter, { after, until: null }), ({ rows, total }) => {
        const page = pageOf(rows.slice(offset), limit)
        return { runs: page.rows, next: page.next, total }
      }),
    foldTotals: Effect.succeed(0),
    extent: ({ after = null, limit, offset, ...filter }) =>
      Effect.map(Effect.orDie(matching(filter, { after, until: null })), ({ rows }) => {
        const { isOver, ...extent } = extentOf(rows.slice(offset), limit)
        return { ...extent, isOver: extentOf(rows.slice(offset).map(toRun), limit).isOver }
      }),
    slice: (filter, range) =>
      Effect.map(Effect.orDie(matching(filter, range)), ({ rows }) => pageOf(rows, range.limit))
  }
}
