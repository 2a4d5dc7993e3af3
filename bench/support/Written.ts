import { type Amount, type Report, type Row, type Table, toRow, toText } from "./Report.ts"

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isAmount = (value: unknown): value is Amount => typeof value === "number" || typeof value === "string"
const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined)

/** Where both sides are texts, the ratio may have been written beside them. */
const ratioOf = (row: Row, given: unknown): Row =>
  row.ratio !== null || Number.isNaN(Number.parseFloat(String(given)))
    ? row
    : { ...row, ratio: Number.parseFloat(String(given)) }

/** A line for each number that both sides have, of what has several: "requests per second" and "CPU". */
const rowsOf = ({ agentd, beside, goal, note, ratio, unit, what }: Json): ReadonlyArray<Row> => {
  const more = { goal: textOf(goal), note: textOf(note) }
  if (isObject(agentd)) {
    const others = isObject(beside) ? beside : {}
    return Object.entries(agentd).flatMap(([name, own]) => {
      const other = others[name]
      if (!isAmount(own)) return []
      return [
        toRow({
          what: String(what),
          agentd: own,
          beside: isAmount(other) ? other : undefined,
          unit: name,
          ...more
        })
      ]
    })
  }
  if (!isAmount(agentd)) return []
  const other = isAmount(beside) && beside !== "" ? beside : undefined
  return [ratioOf(toRow({ what: String(what), agentd, beside: other, unit: textOf(unit), ...more }), ratio)]
}

/** What has other columns is shown with those. */
const tableOf = (title: string, lines: ReadonlyArray<Json>): Table => {
  const names = Object.keys(lines[0] ?? {}).filter((name) => isAmount(lines[0]?.[name]))
  const cellOf = (value: unknown) => (isAmount(value) ? toText(value) : "–")
  return { title, head: names, rows: lines.map((line) => names.map((name) => cellOf(line[name]))) }
}

/**
 * The report of a program by what it wrote: a `Report`, or the lines alone, of which one may have several numbers on each
 * side. Lines that have no `what` become a table of their own. Throws where there is no line at all.
 */
export const reportOf = (name: string, written: unknown): Report => {
  const found = isObject(written) ? written.rows : written
  const lines = Array.isArray(found) ? found.filter(isObject) : []
  if (lines.length === 0) throw new Error("it wrote no lines")
  const rest = lines.filter(({ what }) => what === undefined)
  const tables =
    isObject(written) && Array.isArray(written.tables) ? (written.tables as ReadonlyArray<Table>) : []
  return {
    name,
    rows: lines.filter(({ what }) => what !== undefined).flatMap(rowsOf),
    tables: rest.length === 0 ? tables : [...tables, tableOf(name, rest)]
  }
}
