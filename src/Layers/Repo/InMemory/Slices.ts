import * as Effect from "effect/Effect"
import { ReferenceGone } from "../../../Schemas/Errors.ts"
import {
  type Batch,
  batchBytes,
  type Extent,
  mostAnswerBytes,
  type Place,
  placeOf,
  type Range
} from "../../../Schemas/Page.ts"
import type { Pages, WorkspaceFilter } from "../../../Services/Pages.ts"
import { inOrder } from "./Order.ts"

interface Aged {
  readonly id: string
  readonly createdAt: Date
}

const bytesOf = (row: unknown): number => Buffer.byteLength(JSON.stringify(row))

/** The first rows, up to so many, of which the last may go over `batchBytes`. */
export const batchOf = <A>(rows: ReadonlyArray<A>, limit: number): ReadonlyArray<A> => {
  let before = 0
  const end = rows.slice(0, limit).findIndex((row) => {
    if (before >= batchBytes) return true
    before += bytesOf(row)
    return false
  })
  return rows.slice(0, end < 0 ? limit : end)
}

export const isOver = (rows: ReadonlyArray<unknown>): boolean =>
  rows.reduce<number>((sum, row) => sum + bytesOf(row), 0) > mostAnswerBytes

/** Where `after` is; null: there is no such row. */
const whereIs = (rows: ReadonlyArray<Aged>, { createdAt, id }: Place): Aged | null => {
  const row = rows.find((one) => one.id === id)
  return row ?? (createdAt === null ? null : { id, createdAt })
}

type Ordered = (a: Aged, b: Aged) => number

const oldestFirst: Ordered = inOrder("createdAt")

/** The rows of a range; `scope` are all of its tenant. */
export const rangeOf = <A extends Aged>(
  rows: ReadonlyArray<A>,
  scope: ReadonlyArray<Aged>,
  { after, until }: Omit<Range<Place>, "limit">,
  ordered: Ordered = oldestFirst
): Effect.Effect<ReadonlyArray<A>, ReferenceGone> => {
  const from = after === null ? null : whereIs(scope, after)
  const to = until === null ? null : whereIs(scope, until)
  if (after !== null && from === null) return Effect.fail(new ReferenceGone({ field: "after" }))
  return Effect.succeed(
    rows
      .filter((row) => from === null || ordered(row, from) > 0)
      .filter((row) => to === null || ordered(row, to) <= 0)
      .sort(ordered)
  )
}

export const pageOf = <A extends Aged>(rows: ReadonlyArray<A>, limit: number): Batch<A, Place> => {
  const found = batchOf(rows, limit)
  const last = found.at(-1)
  return { rows: found, next: last !== undefined && found.length < rows.length ? placeOf(last) : null }
}

export const extentOf = <A extends Aged>(
  rows: ReadonlyArray<A>,
  limit: number | undefined
): Extent<Place> => {
  const asked = rows.slice(0, limit)
  const last = asked.at(-1)
  return {
    isOver: isOver(asked),
    after: null,
    until: last === undefined ? null : placeOf(last),
    next: last !== undefined && asked.length < rows.length ? last.id : null
  }
}

/** The list of a table of workspaces, oldest first; `matches` says what beside workspace and project. */
export const makePages = <
  A extends Aged,
  S extends Aged & WorkspaceRow,
  F extends WorkspaceFilter = WorkspaceFilter
>(
  table: ReadonlyMap<string, S>,
  shown: (stored: S) => A,
  matches: (stored: S, filter: F) => boolean = () => true
): Pages<A, F> => {
  const range = (filter: F, places: Omit<Range<Place>, "limit">) =>
    Effect.suspend(() => {
      const scope = Array.from(table.values()).filter((row) => row.workspaceId === filter.workspaceId)
      const narrowed = scope.filter(
        (row) =>
          (filter.projectId === undefined || row.projectId === filter.projectId) && matches(row, filter)
      )
      return Effect.map(rangeOf(narrowed, scope, places), (rows) => rows.map(shown))
    })
  return {
    page: (filter, asked) => Effect.map(range(filter, asked), (rows) => pageOf(rows, asked.limit)),
    extent: (filter, { after, limit }) =>
      Effect.map(Effect.orDie(range(filter, { after, until: null })), (rows) => extentOf(rows, limit))
  }
}

interface WorkspaceRow {
  readonly workspaceId: string
  readonly projectId: string | null
}
