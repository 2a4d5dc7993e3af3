import { duration } from "../../Format.ts"
import { href } from "../../Router.ts"
import { Copy } from "../../ui/Copy.tsx"
import { Status } from "../../ui/Status.tsx"
import { Age, now } from "../../ui/Time.tsx"
import { isActive, type Row, tookMillis } from "./RunRows.ts"

interface Props {
  readonly row: Row
  /** Whether it is the one that the keyboard is at: the others are left out by Tab. */
  readonly isCurrent: boolean
  readonly onFocus: () => void
}

/** One run of the list: a link to it, and its id. */
export const RunRow = ({ row, isCurrent, onFocus }: Props) => {
  const took = tookMillis(row, isActive(row) ? Math.max(now.value, Date.now()) : 0)
  return (
    <div class="runs-row">
      <a
        class="runs-link"
        href={href(["runs", row.id])}
        data-run={row.id}
        tabIndex={isCurrent ? 0 : -1}
        onFocus={onFocus}
      >
        <span class="runs-status">
          <Status status={row.status} />
        </span>
        <span class="runs-line">{row.line === "" ? "(no text)" : row.line}</span>
        <span class="runs-took number">
          {took === undefined ? <span class="muted">–</span> : duration(took)}
        </span>
        <span class="runs-age number">
          <Age at={row.createdAt} />
        </span>
      </a>
      <span class="runs-id" title={row.id}>
        <code>…{row.id.slice(-8)}</code>
        <Copy text={row.id} tabIndex={isCurrent ? 0 : -1} what={row.id} />
      </span>
    </div>
  )
}
