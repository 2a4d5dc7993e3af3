import { median, type Sample, stepsOf } from "./Laws.ts"
import { quantile, type Table, toText } from "./Report.ts"

/** What came of one operation at all sizes. */
export interface Found {
  readonly law: string
  readonly what: string
  readonly of: string
  readonly samples: ReadonlyArray<Sample>
  readonly grows: ReadonlyArray<string>
  readonly worst: string | undefined
}

const ratio = (value: number) => `×${toText(value)}`

/** Time, and what of others it takes. */
const cell = ({ buffers, cpuMillis, databaseMillis, millis, readBytes, statements }: Sample) =>
  `${toText(median(millis))} / ${toText(quantile(millis, 0.99))} ms; ${toText(statements)} st, ` +
  `${toText(buffers)} buf, db ${toText(databaseMillis)} ms, cpu ${toText(cpuMillis)} ms, ` +
  `${toText(readBytes / 1000)} kB`

export const cellsOf = ({ grows, samples, what }: Found): ReadonlyArray<string> => {
  const of = (value: (sample: Sample) => number) =>
    stepsOf(samples.map((sample) => ({ size: sample.size, value: value(sample) })))
      .map((step) => ratio(step.ratio))
      .join(", ")
  const law = `${of(({ millis }) => median(millis))}; buf ${of(({ buffers }) => buffers)}`
  return [what, ...samples.map(cell), law, grows.length === 0 ? "yes" : `**no**: ${grows.join(", ")}`]
}

export const headOf = ({ of, samples }: Found): ReadonlyArray<string> => [
  "what",
  ...samples.map(({ size }) => `${size.toLocaleString("en")} ${of}`),
  "from one to the next",
  "flat"
]

/** One table for each law. */
export const tablesOf = (found: ReadonlyArray<Found>): ReadonlyArray<Table> =>
  Array.from(
    Map.groupBy(found, ({ law }) => law),
    ([law, all]) => ({
      title: law,
      head: all[0] === undefined ? [] : headOf(all[0]),
      rows: all.map(cellsOf)
    })
  )
