import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"
import { clock, hereText, isKnownZone, ownZone } from "./Zones.ts"

const Clock = ({ at, timeZone }: { readonly at: Date; readonly timeZone: string }) => {
  const { date, offset, time } = clock(at, timeZone)
  return (
    <span class="schedules-clock number">
      {date} <strong>{time}</strong> <span class="muted">{offset}</span>
    </span>
  )
}

interface Props {
  readonly instants: ReadonlyArray<Date>
  readonly timeZone: string
  readonly label: string
}

/** Instants on the clock of a job, and on one's own where that is another. */
export const Instants = ({ instants, timeZone, label }: Props) => {
  const own = ownZone()
  return (
    <div class="schedules-instants">
      {!isKnownZone(timeZone) && (
        <p class="muted">This browser does not know the time zone {timeZone}: shown in UTC.</p>
      )}
      <Table
        label={label}
        columns={[
          `${isKnownZone(timeZone) ? timeZone : "UTC"}${own === timeZone ? "" : " and here"}`,
          "From now"
        ]}
      >
        {instants.map((at) => (
          <tr key={at.getTime()}>
            <td>
              <Clock at={at} timeZone={timeZone} />
              {own !== timeZone && <div class="muted number">{hereText(at, timeZone, own)} here</div>}
            </td>
            <td class="muted">
              <Age at={at} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}
