import { useState } from "preact/hooks"
import { duration } from "../../Format.ts"
import { href } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Notice, ProblemNotice } from "../../ui/Notice.tsx"
import { Empty } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import { kindOf, looks, outcomeWords } from "./Slots.ts"
import { Strip } from "./Strip.tsx"
import { mostKept, type SlotsState } from "./useSlots.ts"
import { clockText, ownZone } from "./Zones.ts"

interface Props {
  readonly slots: SlotsState
  readonly timeZone: string
}

/** What became of the slots of a job: as a strip, and as a table. */
export const PastSlots = ({ slots, timeZone }: Props) => {
  const { fires, hasOlder, older, problem, reload, statuses } = slots
  const [isTable, setTable] = useState(false)
  if (fires === undefined) {
    return problem === undefined ? (
      <div class="panel slots-loading" role="status" aria-label="Loading" />
    ) : (
      <ProblemNotice problem={problem} onRetry={reload} />
    )
  }
  if (fires.length === 0) {
    return (
      <Empty title="No slot yet.">
        <p>Each instant of the schedule comes here when it has passed, with its run or why there is none.</p>
      </Empty>
    )
  }
  return (
    <div class="stack">
      {problem !== undefined && (
        <Notice kind="warn">{problem.message} What is shown may be old; it is tried again.</Notice>
      )}
      <div class="panel">
        <Strip fires={fires} statuses={statuses} timeZone={timeZone} />
      </div>
      <div class="row">
        {hasOlder && <Button onClick={older}>Load older slots</Button>}
        <Button kind="quiet" aria-expanded={isTable} onClick={() => setTable(!isTable)}>
          {isTable ? "Hide the table" : "Show as a table"}
        </Button>
        {fires.length >= mostKept && (
          <span class="muted">The newest {mostKept.toLocaleString("en")} are shown.</span>
        )}
      </div>
      {isTable && <SlotTable slots={slots} timeZone={timeZone} />}
    </div>
  )
}

const rowsAtOnce = 100

const SlotTable = ({ slots: { fires = [], statuses }, timeZone }: Props) => {
  const [rows, setRows] = useState(rowsAtOnce)
  const own = ownZone()
  const zones = own === timeZone ? [timeZone] : [timeZone, `Here (${own})`]
  return (
    <>
      <Table label="Past slots, newest first" columns={[...zones, "Outcome", "Lag", "Run"]}>
        {fires.slice(0, rows).map((fire) => {
          const kind = kindOf(fire, statuses)
          return (
            <tr key={fire.scheduledAt.getTime()} class="number">
              <td>{clockText(fire.scheduledAt, timeZone)}</td>
              {own !== timeZone && <td>{clockText(fire.scheduledAt, own)}</td>}
              <td>{outcomeWords[fire.outcome]}</td>
              <td>{duration(fire.lagMs)}</td>
              <td>
                {fire.runId === null ? (
                  <span class="muted">–</span>
                ) : (
                  <a href={href(["runs", fire.runId])}>{looks[kind].word}</a>
                )}
              </td>
            </tr>
          )
        })}
      </Table>
      {rows < fires.length && (
        <div>
          <Button onClick={() => setRows(rows + rowsAtOnce)}>Show more rows</Button>
        </div>
      )}
    </>
  )
}
