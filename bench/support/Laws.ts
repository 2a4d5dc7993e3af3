import { quantile } from "./Report.ts"

/** What one operation took at one size. */
export interface Sample {
  readonly size: number
  /** Of each repetition. */
  readonly millis: ReadonlyArray<number>
  /** Of each repetition on average, beyond what the service does with nothing to do. */
  readonly statements: number
  /** 8 KiB pages that PostgreSQL looked at, in memory or not. */
  readonly buffers: number
  readonly databaseMillis: number
  /** Of the service, in all its threads. */
  readonly cpuMillis: number
  /** What the service read, from the database and from others. */
  readonly readBytes: number
}

/** From one size to the next. */
export interface Step {
  readonly from: number
  readonly to: number
  readonly ratio: number
  /** The power of the size with which it grows: 0 is flat, 1 in proportion. */
  readonly exponent: number
}

export const median = (millis: ReadonlyArray<number>): number => quantile(millis, 0.5)

export const stepsOf = (
  points: ReadonlyArray<{ readonly size: number; readonly value: number }>
): ReadonlyArray<Step> =>
  points.slice(1).map(({ size, value }, n) => {
    const before = points[n] ?? { size, value }
    const ratio = value / before.value
    return { from: before.size, to: size, ratio, exponent: Math.log(ratio) / Math.log(size / before.size) }
  })

/** A tree of ten times as many rows may be a level deeper, and what is fast differs from itself by this much. */
const flatExponent = 0.15
/** Less than this nobody minds, however it grows. */
const slight = { millis: 3, databaseMillis: 2, buffers: 200, cpuMillis: 3, readBytes: 50_000 }

type Grown = keyof typeof slight

/** The shortest time: all above it is what else the machine does. */
const valueOf = (sample: Sample, of: Grown) => (of === "millis" ? Math.min(...sample.millis) : sample[of])

/** What of an operation grows with the size, of what it takes of everything; empty where all is flat. */
export const notFlat = (samples: ReadonlyArray<Sample>): ReadonlyArray<Grown> => {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < 2) return []
  return (Object.keys(slight) as ReadonlyArray<Grown>).filter((of) => {
    const [least, most] = [Math.max(valueOf(first, of), slight[of] / 10), valueOf(last, of)]
    const exponent = Math.log(most / least) / Math.log(last.size / first.size)
    return exponent > flatExponent && most - least > slight[of]
  })
}
