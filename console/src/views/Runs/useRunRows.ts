import { useCallback, useRef, useState } from "preact/hooks"
import type { AgentId, CronJobId, ProjectId, WorkspaceId } from "../../../../src/Schemas/Ids.ts"
import type { RunStatus } from "../../../../src/Schemas/Run.ts"
import { call, type Problem } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import * as RunRows from "./RunRows.ts"

export interface Filter {
  readonly workspaceId: WorkspaceId
  readonly status?: RunStatus
  readonly agentId?: AgentId
  readonly cronJobId?: CronJobId
  readonly projectId?: ProjectId
}

/** Where somebody was in a list, for when they come back from a run. */
interface Place {
  readonly key: string
  readonly list: RunRows.Rows
  readonly offset: number
  readonly current: string | undefined
}

export interface RunRowsState {
  readonly list: RunRows.Rows | undefined
  readonly problem: Problem | undefined
  readonly reload: () => void
  readonly more: () => void
  readonly moreProblem: Problem | undefined
  readonly showHeld: () => void
  readonly place: Pick<Place, "offset" | "current">
  readonly setPlace: (place: Partial<Pick<Place, "offset" | "current">>) => void
  readonly setRange: (first: number, last: number) => void
}

const pageRows = 100
/** What is looked at again and again is as many as can be seen. */
const lookRows = 40
const lookMillis = 2_000

let kept: Place | undefined

export const keyOf = (filter: Filter): string => JSON.stringify(filter)

const read = (filter: Filter, page: { limit: number; after?: RunRows.Row["id"] }, signal?: AbortSignal) =>
  call((client) => client.runs.list({ query: { ...filter, ...page } }), signal)

/**
 * The runs that match, newest first, as they are now: with one request every two seconds, of the newest or of those that are
 * seen in turn, and with a page more when the end comes near. The filter stays the same as long as the component is there.
 */
export const useRunRows = (filter: Filter): RunRowsState => {
  const key = keyOf(filter)
  const before = kept?.key === key ? kept : undefined
  const [list, setList] = useState(before?.list)
  const latest = useRef(list)
  const place = useRef({ offset: before?.offset ?? 0, current: before?.current })
  const range = useRef({ first: 0, last: 0 })
  const looks = useRef(0)

  const put = (next: RunRows.Rows) => {
    latest.current = next
    kept = { key, list: next, ...place.current }
    setList(next)
  }

  const lookAtSeen = async (rows: RunRows.Rows["rows"], signal: AbortSignal): Promise<boolean> => {
    const { first, last } = range.current
    const after = rows[first - 1]
    if (after === undefined || first < lookRows || !rows.slice(first, last + 1).some(RunRows.isActive))
      return false
    const limit = Math.min(pageRows, Math.max(1, last - first + 1))
    const page = await read(filter, { limit, after: after.id }, signal)
    if (latest.current !== undefined) put(RunRows.refreshBehind(latest.current, after.id, page, limit))
    return true
  }

  const { problem, reload } = useLoad(
    key,
    async (signal) => {
      if (latest.current === undefined) {
        put(RunRows.first(await read(filter, { limit: pageRows }, signal), pageRows))
        return
      }
      looks.current += 1
      if (looks.current % 2 === 0 && (await lookAtSeen(latest.current.rows, signal))) return
      const page = await read(filter, { limit: lookRows }, signal)
      put(RunRows.refresh(latest.current, page, lookRows, place.current.offset > 0))
    },
    { every: lookMillis }
  )

  const { run: runMore, problem: moreProblem } = useAction(async () => {
    const after = latest.current?.rows.at(-1)
    if (after === undefined) return
    const page = await read(filter, { limit: pageRows, after: after.id })
    // What came meanwhile may have begun the list anew.
    if (latest.current?.rows.at(-1)?.id === after.id) put(RunRows.append(latest.current, page, pageRows))
  })
  const more = useCallback(() => {
    const { current } = latest
    if (current !== undefined && !current.isWhole && current.rows.length < RunRows.mostRows) runMore()
  }, [runMore])

  const showHeld = () => {
    place.current = { ...place.current, offset: 0 }
    if (latest.current !== undefined) put(RunRows.show(latest.current))
  }
  const setPlace = (changed: Partial<Pick<Place, "offset" | "current">>) => {
    place.current = { ...place.current, ...changed }
    if (kept?.key === key) kept = { ...kept, ...place.current }
  }
  const setRange = useCallback((first: number, last: number) => {
    range.current = { first, last }
  }, [])
  return { list, problem, reload, more, moreProblem, showHeld, place: place.current, setPlace, setRange }
}
