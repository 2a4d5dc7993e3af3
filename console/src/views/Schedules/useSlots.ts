import { useCallback, useRef } from "preact/hooks"
import type { CronFire } from "../../../../src/Schemas/CronFire.ts"
import type { CronJobId, RunId, WorkspaceId } from "../../../../src/Schemas/Ids.ts"
import type { RunStatus } from "../../../../src/Schemas/Run.ts"
import { call, type Problem } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { isJoined, merge, type Statuses } from "./Slots.ts"

const pageSize = 100
/** What is read at first, and with each further look back. */
const atOnce = 400
export const mostKept = 2_000
/** Of the runs of a job, that many of the newest are looked at for how they ended. */
const mostRunPages = 6

interface Job {
  readonly id: CronJobId
  readonly workspaceId: WorkspaceId
}

const readPages = async (
  id: CronJobId,
  from: number,
  count: number,
  signal: AbortSignal
): Promise<ReadonlyArray<CronFire>> => {
  const offsets = Array.from({ length: Math.ceil(count / pageSize) }, (_, page) => from + page * pageSize)
  const pages = await Promise.all(
    offsets.map((offset) =>
      call((client) => client.cronJobs.fires({ params: { id }, query: { limit: pageSize, offset } }), signal)
    )
  )
  return pages.flatMap(({ data }) => data)
}

/** How the newest runs of a job ended, as far back as `until`, and no further than is worth it. */
const readStatuses = async (
  job: Job,
  until: number,
  pages: number,
  signal: AbortSignal
): Promise<Statuses> => {
  const statuses = new Map<string, RunStatus>()
  let after: RunId | undefined
  for (let page = 0; page < pages; page++) {
    const { data } = await call(
      (client) =>
        client.runs.list({
          query: {
            workspaceId: job.workspaceId,
            cronJobId: job.id,
            limit: pageSize,
            ...(after !== undefined && { after })
          }
        }),
      signal
    )
    for (const { id, status } of data) statuses.set(id, status)
    const last = data.at(-1)
    if (last === undefined || data.length < pageSize || last.createdAt.getTime() < until) break
    after = last.id
  }
  return statuses
}

export interface SlotsState {
  /** Newest first; undefined until they are known. */
  readonly fires: ReadonlyArray<CronFire> | undefined
  readonly statuses: Statuses
  readonly problem: Problem | undefined
  /** Whether the ledger has more, and that may still be shown here. */
  readonly hasOlder: boolean
  readonly older: () => void
  /** Reads all that is shown anew: what became of slots may have changed. */
  readonly reload: () => void
}

interface Known {
  readonly fires: ReadonlyArray<CronFire>
  readonly statuses: Statuses
  readonly hasOlder: boolean
}

const nothing: Known = { fires: [], statuses: new Map(), hasOlder: false }

const read = async (
  job: Job,
  before: Known,
  wanted: number,
  isAnew: boolean,
  signal: AbortSignal
): Promise<Known> => {
  const first = await readPages(job.id, 0, pageSize, signal)
  const isWhole = isAnew || !isJoined(before.fires, first)
  const from = isWhole ? pageSize : before.fires.length
  const hasMore = isWhole ? first.length === pageSize : before.hasOlder
  const asked = hasMore ? Math.max(0, wanted - from) : 0
  const rest = asked === 0 ? [] : await readPages(job.id, from, asked, signal)
  const fires = merge(isWhole ? [] : before.fires, [...rest, ...first], mostKept)
  const until = fires.at(-1)?.scheduledAt.getTime() ?? Number.POSITIVE_INFINITY
  const statuses = await readStatuses(job, until, isWhole || asked > 0 ? mostRunPages : 1, signal)
  const ids = new Set<string | null>(fires.map(({ runId }) => runId))
  return {
    fires,
    statuses: new Map([...before.statuses, ...statuses].filter(([id]) => ids.has(id))),
    hasOlder: (asked > 0 ? rest.length >= asked : hasMore) && fires.length < mostKept
  }
}

/** The ledger of a job with the ends of its runs: the newest again and again, older ones when they are asked for. */
export const useSlots = (job: Job, every: number): SlotsState => {
  const known = useRef(nothing)
  const wanted = useRef(atOnce)
  const isAnew = useRef(true)
  const { data, problem, reload } = useLoad(
    job.id,
    async (signal) => {
      const next = await read(job, known.current, wanted.current, isAnew.current, signal)
      isAnew.current = false
      known.current = next
      return next
    },
    { every }
  )
  const older = useCallback(() => {
    wanted.current = Math.min(mostKept, known.current.fires.length + atOnce)
    reload()
  }, [reload])
  const again = useCallback(() => {
    isAnew.current = true
    reload()
  }, [reload])
  const { fires, hasOlder, statuses } = data ?? nothing
  return {
    fires: data === undefined ? undefined : fires,
    statuses,
    problem,
    hasOlder,
    older,
    reload: again
  }
}
