import { writeFileSync } from "node:fs"

/** A number, or a few words where there is no one number: "0.4–3 s". */
export type Amount = number | string

/** One line of a benchmark: agentd beside what it is measured with, in the same unit and the same minutes. */
export interface Measured {
  /** Without the unit: "GET /api/agents/{id}". */
  readonly what: string
  readonly agentd: Amount
  /** Left out where there is nothing to set it beside. */
  readonly beside?: Amount | undefined
  /** "req/s", "µs CPU", "ms p99" … of both. */
  readonly unit?: string | undefined
  /** What the ratio or the number is meant to be: "≥ 0.9×", "< 50 ms". */
  readonly goal?: string | undefined
  /** What a reader has to know to read the line: loads, sizes, what was left out. */
  readonly note?: string | undefined
}

/** What is written with `--json`: a line with agentd by beside as its ratio; null where there is none. */
export interface Row extends Measured {
  readonly ratio: number | null
}

/** For what four columns can't say. */
export interface Table {
  readonly title: string
  readonly head: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
}

/** What the program of a benchmark writes with `--json FILE`. */
export interface Report {
  readonly name: string
  readonly rows: ReadonlyArray<Row>
  /** Where these say what the rows say, but better: they are shown in their stead. */
  readonly tables?: ReadonlyArray<Table>
}

/** The value that so large a share (0 to 1) of them is not above; NaN of none. */
export const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? Number.NaN
}

export const toRow = (measured: Measured): Row => {
  const { agentd, beside } = measured
  const ratio = typeof agentd === "number" && typeof beside === "number" ? agentd / beside : Number.NaN
  return { ...measured, ratio: Number.isFinite(ratio) ? ratio : null }
}

/** Three digits that say something, and thousands apart: 8,598 and 306 and 22.8 and 0.44. */
export const toText = (value: Amount | null | undefined): string => {
  if (typeof value === "string") return value
  if (value === undefined || value === null || !Number.isFinite(value)) return "–"
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(3, digits) })
}

export const toRatio = (ratio: number | null): string => (ratio === null ? "–" : `${toText(ratio)}×`)

/** The cells in one line of a table of markdown. */
export const line = (...cells: ReadonlyArray<string | number>): string =>
  `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`

export const head = (...cells: ReadonlyArray<string>): string =>
  `${line(...cells)}\n${line(...cells.map((_, n) => (n === 0 ? "---" : "---:")))}`

export const rowHead = head("what", "agentd", "beside", "ratio")

export const rowLine = ({ agentd, beside, ratio, unit, what }: Row): string =>
  line(unit === undefined ? what : `${what} (${unit})`, toText(agentd), toText(beside), toRatio(ratio))

/** Writes it where `--json` says, if it does. */
export const save = (report: Report, json: string | undefined): void => {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`)
}

/** Prints the head of the table at once and each line as it is measured; `save` writes all of them as JSON. */
export const openReport = (name: string, json: string | undefined) => {
  const rows: Array<Row> = []
  process.stdout.write(`${rowHead}\n`)
  return {
    row: (measured: Measured) => {
      const row = toRow(measured)
      rows.push(row)
      process.stdout.write(`${rowLine(row)}\n`)
    },
    save: () => save({ name, rows }, json)
  }
}
