import type { UsageRow } from "../../../../src/Schemas/UsageReport.ts"

/** What of rows is added up. Costs are null as soon as one of them is not known. */
export type Sums = Omit<UsageRow, "key">

const none: Sums = {
  runs: 0,
  turns: 0,
  modelCalls: 0,
  toolCalls: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  costUsd: 0
}

export const sumOf = (rows: ReadonlyArray<UsageRow>): Sums =>
  rows.reduce<Sums>(
    (sum, row) => ({
      runs: sum.runs + row.runs,
      turns: sum.turns + row.turns,
      modelCalls: sum.modelCalls + row.modelCalls,
      toolCalls: sum.toolCalls + row.toolCalls,
      inputTokens: sum.inputTokens + row.inputTokens,
      cachedInputTokens: sum.cachedInputTokens + row.cachedInputTokens,
      outputTokens: sum.outputTokens + row.outputTokens,
      costUsd: sum.costUsd === null || row.costUsd === null ? null : sum.costUsd + row.costUsd
    }),
    none
  )

export const tokensOf = ({ inputTokens, outputTokens }: Pick<Sums, "inputTokens" | "outputTokens">): number =>
  inputTokens + outputTokens

/** A row for each of these days, with zeros where nothing was used. */
export const byDay = (
  rows: ReadonlyArray<UsageRow>,
  days: ReadonlyArray<string>
): ReadonlyArray<UsageRow> => {
  const known = new Map(rows.map((row) => [row.key, row]))
  return days.map((day) => known.get(day) ?? { ...none, key: day })
}

/** Values that are drawn one upon the other: each is what it reaches up to, the last first to be drawn. */
export const stacked = (parts: ReadonlyArray<ReadonlyArray<number>>): ReadonlyArray<Array<number>> => {
  const sums: Array<Array<number>> = []
  for (const part of parts) {
    const below = sums.at(-1)
    sums.push(part.map((value, index) => value + (below?.[index] ?? 0)))
  }
  return sums
}

/** What is read in a spreadsheet: a cell that begins like a formula is text, whoever named it so. */
export const csvOf = (names: ReadonlyMap<string, string>, rows: ReadonlyArray<UsageRow>): string => {
  const cell = (value: string | number | null) => {
    const text = value === null ? "" : String(value)
    const safe = typeof value === "string" && /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text
    return /[",\n\r]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  const head = [
    "key",
    "name",
    "runs",
    "turns",
    "modelCalls",
    "toolCalls",
    "inputTokens",
    "cachedInputTokens",
    "outputTokens",
    "costUsd"
  ]
  const lines = rows.map((row) =>
    [
      row.key,
      names.get(row.key ?? "") ?? "",
      row.runs,
      row.turns,
      row.modelCalls,
      row.toolCalls,
      row.inputTokens,
      row.cachedInputTokens,
      row.outputTokens,
      row.costUsd
    ]
      .map(cell)
      .join(",")
  )
  return `${[head.join(","), ...lines].join("\r\n")}\r\n`
}
