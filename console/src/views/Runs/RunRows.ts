import type { RunId } from "../../../../src/Schemas/Ids.ts"
import type { Run, RunStatus } from "../../../../src/Schemas/Run.ts"
import { firstLine } from "../../Format.ts"

/** What a list keeps of a run: neither its whole prompt nor its output, which may be long. */
export interface Row {
  readonly id: RunId
  readonly status: RunStatus
  readonly line: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The newest runs that match, as far as they were read. */
export interface Rows {
  /** What is shown, newest first. */
  readonly rows: ReadonlyArray<Row>
  /** What is newer than these and was held back, newest first. */
  readonly held: ReadonlyArray<Row>
  /** Whether there are runs between `held` and `rows` that were not read. */
  readonly isBroken: boolean
  /** Whether nothing is behind the last row. */
  readonly isWhole: boolean
  /** How many there are of them all. */
  readonly total: number
}

export interface RunPage {
  readonly data: ReadonlyArray<Run>
  readonly total: number
}

/** More rows are not kept: who looks for older ones narrows the list. */
export const mostRows = 20_000

export const toRow = ({ createdAt, id, prompt, status, updatedAt }: Run): Row => ({
  id,
  status,
  line: firstLine(prompt),
  createdAt,
  updatedAt
})

/** Whether a run comes behind another: newest first, as the service orders them. */
const isBehind = (row: Row, other: Row): boolean => {
  const millis = row.createdAt.getTime() - other.createdAt.getTime()
  return millis < 0 || (millis === 0 && row.id < other.id)
}

const without = (rows: ReadonlyArray<Row>, others: ReadonlyArray<Row>): ReadonlyArray<Row> => {
  const ids = new Set(others.map(({ id }) => id))
  return rows.filter(({ id }) => !ids.has(id))
}

/** The first page of a list. */
export const first = ({ data, total }: RunPage, limit: number): Rows => ({
  rows: data.map(toRow),
  held: [],
  isBroken: false,
  isWhole: data.length < limit,
  total
})

/** With the page behind the last row. */
export const append = (list: Rows, { data, total }: RunPage, limit: number): Rows => {
  const rows = [...list.rows, ...without(data.map(toRow), list.rows)].slice(0, mostRows)
  return { ...list, rows, total, isWhole: data.length < limit }
}

/**
 * With the newest page as it is now: states are those of the page, and what no longer matches is gone. With `isHeld` runs that
 * are newer than the first row are held back, so that nothing moves what is read.
 */
export const refresh = (list: Rows, page: RunPage, limit: number, isHeld: boolean): Rows => {
  const newest = page.data.map(toRow)
  const last = newest.at(-1)
  const isAll = page.data.length < limit
  const known = [...list.held, ...list.rows]
  const isJoined = isAll || known.length === 0 || without(known, newest).length < known.length
  const isBroken = list.isBroken || !isJoined
  const [head] = list.rows
  if (isBroken && (!isHeld || head === undefined)) return first(page, limit)
  const behind = last === undefined || isAll ? [] : known.filter((row) => isBehind(row, last))
  const all = [...newest, ...behind]
  const isNew = (row: Row) => isHeld && head !== undefined && isBehind(head, row)
  return {
    rows: all.filter((row) => !isNew(row)).slice(0, mostRows),
    held: all.filter(isNew),
    isBroken: isBroken && !isAll,
    isWhole: isAll || list.isWhole,
    total: page.total
  }
}

/** With the page behind one of the rows as it is now. */
export const refreshBehind = (list: Rows, after: RunId, page: RunPage, limit: number): Rows => {
  const from = list.rows.findIndex(({ id }) => id === after) + 1
  if (from === 0) return list
  const now = page.data.map(toRow)
  const last = now.at(-1)
  const isAll = page.data.length < limit
  const behind = last === undefined || isAll ? [] : list.rows.slice(from).filter((row) => isBehind(row, last))
  const rows = [...list.rows.slice(0, from), ...now, ...behind].slice(0, mostRows)
  return { ...list, rows, isWhole: isAll || list.isWhole, total: page.total }
}

/** With what was held back; if there are runs between, without what is behind them. */
export const show = (list: Rows): Rows => ({
  ...list,
  rows: list.isBroken ? list.held : [...list.held, ...list.rows].slice(0, mostRows),
  held: [],
  isBroken: false,
  isWhole: list.isWhole && !list.isBroken
})

/** Whether a run may still change by itself. */
export const isActive = ({ status }: Row): boolean =>
  status === "PENDING" || status === "RUNNING" || status === "WAITING_APPROVAL"

/** How long it has taken since it was made, until its end or until now; undefined while it waits to begin. */
export const tookMillis = ({ createdAt, status, updatedAt }: Row, now: number): number | undefined => {
  if (status === "PENDING") return undefined
  const end = status === "RUNNING" || status === "WAITING_APPROVAL" ? now : updatedAt.getTime()
  return Math.max(0, end - createdAt.getTime())
}
