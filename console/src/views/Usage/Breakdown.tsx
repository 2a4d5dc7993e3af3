import type { UsageRow } from "../../../../src/Schemas/UsageReport.ts"
import { cost, count } from "../../Format.ts"
import { Empty } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import { tokensOf } from "./Rows.ts"

interface Props {
  readonly label: string
  readonly rows: ReadonlyArray<UsageRow>
  readonly nameOf: (key: string | null) => string
  readonly addressOf: (key: string | null) => string | undefined
}

/** Who or what used how much: a bar each, and the numbers. */
export const Breakdown = ({ addressOf, label, nameOf, rows }: Props) => {
  const most = Math.max(1, ...rows.map(tokensOf))
  if (rows.length === 0) return <Empty title="Nothing was used in this time." />
  return (
    <Table
      label={label}
      columns={["", "Tokens", "", "Model calls", "Tool calls", "Runs", "Chat answers", "Cost"]}
    >
      {rows.map((row) => {
        const to = addressOf(row.key)
        const name = nameOf(row.key)
        return (
          <tr key={row.key} class="number">
            <th scope="row" class="usage-name">
              {to === undefined ? name : <a href={to}>{name}</a>}
            </th>
            <td>{count(tokensOf(row))}</td>
            <td class="usage-bars">
              <div class="usage-bar" style={{ width: `${(100 * tokensOf(row)) / most}%` }} />
            </td>
            <td>{count(row.modelCalls)}</td>
            <td>{count(row.toolCalls)}</td>
            <td>{count(row.runs)}</td>
            <td>{count(row.turns)}</td>
            <td>{cost(row.costUsd)}</td>
          </tr>
        )
      })}
    </Table>
  )
}
