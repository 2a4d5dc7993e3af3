import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Run, StoredRun } from "../../../../Schemas/Run.ts"
import { seen } from "../../../../Services/Pages.ts"
import type { RunFilter, RunRepo } from "../../../../Services/RunRepo.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { count } from "../Rows.ts"
import { listedRunColumns } from "../RunColumns.ts"
import * as Slices from "../Slices.ts"
import { isThere, narrowed } from "./Narrowed.ts"
import { totalOf } from "./Totals.ts"

const listed = makeColumns(Run, {})
const total = Schema.decodeUnknownSync(Schema.Struct({ total: Schema.Int }))

/** The lists of tasks, newest first. */
export const make = (
  database: Database["Service"]
): Pick<RunRepo["Service"], "list" | "extent" | "slice"> => {
  const { read, sql } = database
  const runs = Slices.makeAged(database, {
    table: "runs",
    alias: "r",
    shown: listedRunColumns,
    row: StoredRun,
    least: listed.leastBytes("prompt", "output"),
    json: listed.jsonBytes("r")
  })

  const partOf = (filter: RunFilter) => {
    const { parts, where } = narrowed(sql, filter)
    return {
      of: filter.workspaceId,
      where: sql`${where} and ${isThere(sql, filter)}`,
      parts,
      scope: sql`kind = 'task' and workspace_id = ${filter.workspaceId}`,
      isDescending: true
    }
  }

  return {
    list: Effect.fnUntraced(function* ({ after = null, limit, offset, ...filter }) {
      const counted = totalOf(sql, filter)
      const part = {
        ...partOf(filter),
        given: sql`with counted as materialized (select ${counted} as total)`,
        // Where nothing is there, or not so much, nothing is looked for.
        where: sql`${narrowed(sql, filter).where} and (select total from counted) > ${offset}::bigint`,
        beside: sql`, (select total from counted) as total`,
        after,
        offset
      }
      const { page, raw } = yield* runs.readPage(part, { until: null, limit })
      const listed = { runs: page.rows, next: page.next }
      const [first] = raw
      if (first !== undefined) return { ...listed, total: total(first).total }
      const isNone = after === null && offset === 0
      return {
        ...listed,
        total: isNone ? 0 : yield* read(filter.workspaceId, count(sql`select ${counted} as count`))
      }
    }),
    extent: ({ after = null, limit, offset, ...filter }) =>
      runs.extent({ ...partOf(filter), after, offset }, limit),
    slice: (filter, range) => seen(runs.page({ ...partOf(filter), after: range.after }, range))
  }
}
