import { useMemo, useState } from "preact/hooks"
import type { UsageRow } from "../../../../src/Schemas/UsageReport.ts"
import { cost, count } from "../../Format.ts"
import { Section } from "../../ui/Page.tsx"
import { Table } from "../../ui/Table.tsx"
import type { Drawn } from "./Drawing.ts"
import { Plot } from "./Plot.tsx"
import { stacked, tokensOf } from "./Rows.ts"

const Key = ({ series }: { readonly series: ReadonlyArray<Drawn> }) => (
  <ul class="usage-key">
    {series.map(({ colour, label }) => (
      <li key={label}>
        <span class="usage-swatch" style={{ background: `var(${colour})` }} /> {label}
      </li>
    ))}
  </ul>
)

const Said = ({ row }: { readonly row: UsageRow | undefined }) => (
  <p class="usage-said muted number">
    {row === undefined
      ? "Point at a day to read it."
      : `${row.key}: ${count(row.inputTokens)} in (${count(row.cachedInputTokens)} cached), ${count(row.outputTokens)} out, ${cost(row.costUsd)}`}
  </p>
)

/** Tokens and cost by day, as pictures and as a table. */
export const Days = ({ rows }: { readonly rows: ReadonlyArray<UsageRow> }) => {
  const [tokenDay, setTokenDay] = useState<number>()
  const [costDay, setCostDay] = useState<number>()
  const days = useMemo(() => rows.map(({ key }) => key ?? ""), [rows])
  const tokens = useMemo(() => {
    const [cached = [], input = [], output = []] = stacked([
      rows.map(({ cachedInputTokens }) => cachedInputTokens),
      rows.map(({ cachedInputTokens, inputTokens }) => inputTokens - cachedInputTokens),
      rows.map(({ outputTokens }) => outputTokens)
    ])
    return [
      { label: "Output", colour: "--ok-fill", values: output },
      { label: "Input", colour: "--run-fill", values: input },
      { label: "Input out of a cache", colour: "--idle-fill", values: cached }
    ]
  }, [rows])
  const costs = useMemo(
    () => [{ label: "US dollars", colour: "--wait-fill", values: rows.map(({ costUsd }) => costUsd ?? 0) }],
    [rows]
  )
  const unknown = rows.filter(({ costUsd }) => costUsd === null).length
  return (
    <>
      <div class="usage-plots">
        <Section title="Tokens by day">
          <div class="panel">
            <Key series={tokens} />
            <Plot label="Tokens by day" days={days} series={tokens} format={count} onDay={setTokenDay} />
            <Said row={rows[tokenDay ?? -1]} />
          </div>
        </Section>
        <Section title="Cost by day">
          <div class="panel">
            <Key series={costs} />
            <Plot
              label="Cost by day"
              days={days}
              series={costs}
              format={(value) => cost(value)}
              onDay={setCostDay}
            />
            <Said row={rows[costDay ?? -1]} />
            {unknown > 0 && (
              <p class="muted">
                Of {unknown} {unknown === 1 ? "day" : "days"} the cost is not known: a model had no price.
              </p>
            )}
          </div>
        </Section>
      </div>
      <details class="usage-table">
        <summary>The same as a table</summary>
        <Table
          label="Usage by day"
          columns={["Day (UTC)", "Runs", "Chat answers", "Input", "Output", "Tokens", "Cost"]}
        >
          {rows.map((row) => (
            <tr key={row.key} class="number">
              <td>{row.key}</td>
              <td>{row.runs}</td>
              <td>{row.turns}</td>
              <td>{row.inputTokens}</td>
              <td>{row.outputTokens}</td>
              <td>{tokensOf(row)}</td>
              <td>{cost(row.costUsd)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  )
}
