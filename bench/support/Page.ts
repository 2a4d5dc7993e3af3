import type { About } from "./About.ts"
import { head, line, type Report, type Row, rowHead, type Table, toRatio, toText } from "./Report.ts"

/** How a part of the page was measured. */
export interface Conditions extends About {
  readonly command: string
  /** UTC. */
  readonly at: Date
  readonly minutes: number
  readonly loadBefore: number
  readonly loadAfter: number
}

const begin = (name: string) => `<!-- ${name}: made by \`npm run bench\` -->`
const end = "<!-- until here -->"

const withUnit = ({ unit, what }: Row) => (unit === undefined ? what : `${what} (${unit})`)

const rowsTable = (rows: ReadonlyArray<Row>): string => {
  const more = (["goal", "note"] as const).filter((name) => rows.some((row) => row[name] !== undefined))
  const cells = rows.map((row) =>
    line(
      ...[withUnit(row), toText(row.agentd), toText(row.beside), toRatio(row.ratio)],
      ...more.map((name) => row[name] ?? "")
    )
  )
  const heads = more.length === 0 ? rowHead : head("what", "agentd", "beside", "ratio", ...more)
  return [heads, ...cells].join("\n")
}

const tableText = (table: Table): string =>
  [`${table.title}:`, "", head(...table.head), ...table.rows.map((cells) => line(...cells))].join("\n")

/** What of a report the page shows, with what it was measured on. */
export const partOf = (report: Report, conditions: Conditions): string => {
  const { at, command, commit, durability, loadAfter, loadBefore, machine, minutes, versions } = conditions
  const tables = report.tables?.map(tableText) ?? []
  const titles = new Set(report.tables?.map(({ title }) => title))
  const rows = report.rows.filter(({ what }) => !titles.has(what.split(": ")[0] ?? ""))
  return [
    begin(report.name),
    `\`${command}\`, ${at.toISOString().slice(0, 16).replace("T", " ")} UTC${commit === "" ? "" : `, ${commit}`}, ${minutes.toFixed(0)} min.`,
    `${machine}; load ${loadBefore.toFixed(1)} before, ${loadAfter.toFixed(1)} after. ${versions}; ${durability}.`,
    "",
    ...tables.flatMap((table) => [table, ""]),
    ...(rows.length === 0 ? [] : [rowsTable(rows), ""]),
    end
  ].join("\n")
}

/** The page with another part in the place of the one of this name; all else is written by hand, and stays. */
export const replaced = (page: string, name: string, part: string): string => {
  const from = page.indexOf(begin(name))
  const to = page.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`the page has no place for ${name}: ${begin(name)} … ${end}`)
  return page.slice(0, from) + part + page.slice(to + end.length)
}
