import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { go, href, route, setQuery } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty, Loading, Page } from "../../ui/Page.tsx"
import { type VirtualControl, VirtualList } from "../../ui/VirtualList.tsx"
import { keepList } from "./Address.ts"
import { clearFilters, Filters, filterOf, isNarrowed } from "./Filters.tsx"
import { useNames } from "./Names.ts"
import { NewTask } from "./NewTask.tsx"
import { RunRow } from "./RunRow.tsx"
import { mostRows, type Row } from "./RunRows.ts"
import { useKeys } from "./useKeys.ts"
import { useNarrow } from "./useNarrow.ts"
import { type Filter, keyOf, type RunRowsState, useRunRows } from "./useRunRows.ts"

const rowHeight = 36
const narrowRowHeight = 64

/** The runs of the workspace, newest first, as they come and change. */
export const RunList = () => {
  const [isWriting, setWriting] = useState(route.value.query.has("new"))
  const filter = filterOf(workspaceId(), route.value.query)
  const { workspaceId: _, ...narrowed } = filter
  keepList(narrowed)
  return (
    <>
      <Listed key={keyOf(filter)} filter={filter} onNew={() => setWriting(true)} />
      {isWriting && (
        <NewTask
          {...(filter.agentId !== undefined && { agentId: filter.agentId })}
          {...(filter.projectId !== undefined && { projectId: filter.projectId })}
          onClose={() => {
            setWriting(false)
            setQuery({ new: undefined })
          }}
          onSent={(id) => go(href(["runs", id]))}
        />
      )}
    </>
  )
}

const Listed = ({ filter, onNew }: { readonly filter: Filter; readonly onNew: () => void }) => {
  const runs = useRunRows(filter)
  const names = useNames(runs.list !== undefined)
  const filters = useRef<HTMLElement>(null)
  const { list, problem } = runs
  useKeys({ find: () => filters.current?.querySelector("select")?.focus() })
  return (
    <div class="runs">
      <Page
        title="Runs"
        note={
          list === undefined ? "…" : `${list.total.toLocaleString("en")} ${list.total === 1 ? "run" : "runs"}`
        }
        actions={
          <Button kind="primary" onClick={onNew}>
            New task
          </Button>
        }
      >
        <Filters filter={filter} names={names} box={filters} />
        {problem !== undefined && list !== undefined && (
          <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
        )}
        {list === undefined && problem !== undefined && (
          <ProblemNotice problem={problem} onRetry={runs.reload} />
        )}
        {list === undefined && problem === undefined && <Loading rows={12} />}
        {list !== undefined && list.rows.length === 0 && <Nothing filter={filter} onNew={onNew} />}
        {list !== undefined && list.rows.length > 0 && <Rows runs={runs} rows={list.rows} />}
      </Page>
    </div>
  )
}

const Nothing = ({ filter, onNew }: { readonly filter: Filter; readonly onNew: () => void }) =>
  isNarrowed(filter) ? (
    <Empty title="No run matches these filters.">
      <Button onClick={clearFilters}>Clear filters</Button>
    </Empty>
  ) : (
    <Empty title="No run yet.">
      <p>A run is a task that an agent works on: sent here, by a schedule, or through the API.</p>
      <Button kind="primary" onClick={onNew}>
        Send the first task
      </Button>
    </Empty>
  )

interface RowsProps {
  readonly runs: RunRowsState
  readonly rows: ReadonlyArray<Row>
}

const Rows = ({ runs, rows }: RowsProps) => {
  const { list, more, moreProblem, place, setPlace, setRange, showHeld } = runs
  const control = useRef<VirtualControl>(null)
  const [current, setCurrent] = useState(place.current)
  const isNarrow = useNarrow()
  const at = Math.max(
    0,
    rows.findIndex(({ id }) => id === current)
  )
  const moveTo = (index: number) => {
    const row = rows[Math.min(rows.length - 1, Math.max(0, index))]
    if (row === undefined) return
    setCurrent(row.id)
    setPlace({ current: row.id })
    control.current?.toIndex(rows.indexOf(row))
    focusRun(row.id)
  }
  useKeys({
    next: () => moveTo(current === undefined ? 0 : at + 1),
    previous: () => moveTo(at - 1),
    open: () => {
      const row = rows[at]
      if (row !== undefined) go(href(["runs", row.id]))
    }
  })
  const cameBackTo = useRef(place.current)
  useEffect(() => {
    if (cameBackTo.current !== undefined) focusRun(cameBackTo.current)
  }, [])
  const keyOfRow = useCallback((index: number) => rows[index]?.id ?? `${index}`, [rows])
  const held = list?.held.length ?? 0
  return (
    <div class="runs-box">
      <div class="runs-row runs-head" aria-hidden="true">
        <span class="runs-link">
          <span class="runs-status">State</span>
          <span class="runs-line">Task</span>
          <span class="runs-took">Duration</span>
          <span class="runs-age">Created</span>
        </span>
        <span class="runs-id">Run</span>
      </div>
      <div class="runs-held" aria-live="polite">
        {held > 0 && (
          <Button
            kind="primary"
            onClick={() => {
              showHeld()
              control.current?.toTop()
            }}
          >
            ↑ {list?.isBroken === true ? `${held}+` : held} new
          </Button>
        )}
      </div>
      <VirtualList
        label="Runs, newest first"
        count={rows.length}
        rowHeight={isNarrow ? narrowRowHeight : rowHeight}
        keyOf={keyOfRow}
        offset={place.offset}
        onOffset={(offset) => setPlace({ offset })}
        onEnd={more}
        onRange={setRange}
        control={control}
        row={(index) => {
          const row = rows[index]
          return row === undefined ? null : (
            <RunRow
              row={row}
              isCurrent={index === at}
              onFocus={() => {
                setCurrent(row.id)
                setPlace({ current: row.id })
              }}
            />
          )
        }}
      />
      <ProblemNotice problem={moreProblem} onRetry={more} />
      {rows.length >= mostRows && (
        <Notice kind="info">
          These are the newest {mostRows.toLocaleString("en")}. Narrow the list to see older ones.
        </Notice>
      )}
    </div>
  )
}

/** How many frames a row that was scrolled to may take to be there. */
const mostFrames = 30

const focusRun = (id: string, frames = mostFrames) => {
  const link = document.querySelector<HTMLElement>(`[data-run="${CSS.escape(id)}"]`)
  if (link !== null) link.focus({ preventScroll: true })
  else if (frames > 0) requestAnimationFrame(() => focusRun(id, frames - 1))
}
