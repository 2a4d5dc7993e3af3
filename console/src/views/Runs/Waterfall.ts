/** A stretch of time, in milliseconds since 1970. */
export interface Span {
  readonly from: number
  /** Undefined while it goes on. */
  readonly to: number | undefined
  /** Whether nothing is worked on in it, so that the axis may fold it. */
  readonly isWait: boolean
}

/** A part of the axis: all time within it has the same scale. */
interface Piece {
  readonly from: number
  readonly to: number
  /** Where it begins and how wide it is, in percent of the axis. */
  readonly left: number
  readonly width: number
  readonly isFolded: boolean
}

export interface Tick {
  readonly at: number
  readonly left: number
  readonly label: string
}

/** Time drawn as a line from 0 to 100 percent, with what nothing happened in folded. */
export interface Axis {
  readonly pieces: ReadonlyArray<Piece>
  readonly from: number
  readonly to: number
}

export interface Bar {
  readonly left: number
  readonly width: number
}

type Stretch = readonly [from: number, to: number]

/** Stretches of waiting that are shorter than this are never folded. */
const shortestFold = 1_000
/** How much longer than the work what waits may be before its longest stretches are folded. */
const mostWait = 2
const leastWork = 500
const mostFolds = 24
/** What a folded stretch takes of the axis, and all of them together, in percent. */
const foldWidth = 5
const foldsWidth = 40
/** What each stretch that is not folded has at least, so that a short one between two waits can be seen. */
const pieceWidth = 4
const piecesWidth = 30

const lengthOf = ([from, to]: Stretch): number => to - from

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, each) => all + each, 0)

/** What is within any of the stretches, in order and without overlaps. */
const union = (stretches: ReadonlyArray<Stretch>): ReadonlyArray<Stretch> => {
  const joined: Array<Stretch> = []
  for (const [from, to] of stretches.toSorted(([a], [b]) => a - b)) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], to)]
    else joined.push([from, to])
  }
  return joined
}

/** What of the time from `from` to `to` is in none of the stretches. */
const between = (stretches: ReadonlyArray<Stretch>, from: number, to: number): ReadonlyArray<Stretch> => {
  const edges = [from, ...stretches.flat(), to]
  return edges
    .flatMap((edge, index) => (index % 2 === 0 ? [[edge, edges[index + 1] ?? edge] as const] : []))
    .filter((stretch) => lengthOf(stretch) > 0)
}

/** The longest waits, as many as have to go until the work can be seen beside the rest. */
const folds = (work: ReadonlyArray<Stretch>, waits: ReadonlyArray<Stretch>): ReadonlyArray<Stretch> => {
  if (work.length === 0) return []
  const most = mostWait * Math.max(leastWork, sum(work.map(lengthOf)))
  let left = sum(waits.map(lengthOf))
  const folded: Array<Stretch> = []
  for (const wait of waits.toSorted((a, b) => lengthOf(b) - lengthOf(a))) {
    if (left <= most || lengthOf(wait) < shortestFold || folded.length === mostFolds) break
    left -= lengthOf(wait)
    folded.push(wait)
  }
  return folded.toSorted(([a], [b]) => a - b)
}

/** The axis over all spans; what goes on reaches to `now`. */
export const axisOf = (spans: ReadonlyArray<Span>, now: number): Axis => {
  const ended = spans.map(({ from, isWait, to }) => ({ isWait, from, to: Math.max(from, to ?? now) }))
  const from = Math.min(...ended.map((span) => span.from), now)
  const to = Math.max(...ended.map((span) => span.to), from + 1)
  const work = union(ended.filter(({ isWait }) => !isWait).map((span) => [span.from, span.to]))
  const folded = folds(work, between(work, from, to))
  const shown = between(folded, from, to)

  const foldEach = folded.length === 0 ? 0 : Math.min(foldWidth, foldsWidth / folded.length)
  const pieceEach = shown.length < 2 ? 0 : Math.min(pieceWidth, piecesWidth / shown.length)
  const scaled = 100 - foldEach * folded.length - pieceEach * shown.length
  const all = Math.max(1, sum(shown.map(lengthOf)))

  const pieces: Array<Piece> = []
  let left = 0
  for (const stretch of [...folded, ...shown].toSorted(([a], [b]) => a - b)) {
    const isFolded = folded.includes(stretch)
    const width = isFolded ? foldEach : pieceEach + (scaled * lengthOf(stretch)) / all
    pieces.push({ from: stretch[0], to: stretch[1], left, width, isFolded })
    left += width
  }
  return { pieces, from, to }
}

/** Where an instant is on the axis, in percent; what lies beyond it is at its end. */
export const placeOf = ({ pieces }: Axis, at: number): number => {
  const piece = pieces.find(({ to }) => at <= to)
  if (piece === undefined) return 100
  const share = Math.max(0, at - piece.from) / Math.max(1, piece.to - piece.from)
  return Math.min(100, piece.left + share * piece.width)
}

/** Where a span is on the axis. */
export const barOf = (axis: Axis, { from, to }: Pick<Span, "from" | "to">): Bar => {
  const left = placeOf(axis, from)
  return { left, width: Math.max(0, placeOf(axis, to ?? axis.to) - left) }
}

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((each) => each * second),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * minute),
  ...[1, 2, 3, 6, 12].map((each) => each * hour),
  ...[1, 2, 7, 14, 30, 90, 365].map((each) => each * day)
]

/** The smallest step that people count in of which no more than `most` fit into `length`. */
const stepOf = (length: number, most: number): number => steps.find((step) => length / step <= most) ?? length

/** How near two ticks may be, in percent, so that their labels fit. */
const nearest = 9
const lastLabel = 97

/**
 * Ticks that people can read, about `count` over the whole axis. Behind a folded stretch the first says how long the whole
 * has taken by then, and the others what has passed since (`+2 s`). `label` writes a length of time.
 */
export const ticksOf = (axis: Axis, label: (millis: number) => string, count = 7): ReadonlyArray<Tick> => {
  const ticks: Array<Tick> = []
  const firsts = new Set<Tick>()
  const add = (at: number, text: string, isFirst: boolean) => {
    const tick = { at, left: placeOf(axis, at), label: text }
    const before = ticks.at(-1)
    const isNear = before !== undefined && tick.left - before.left < nearest
    if (tick.left > lastLabel || (isNear && (!isFirst || firsts.has(before)))) return
    if (isNear) ticks.pop()
    if (isFirst) firsts.add(tick)
    ticks.push(tick)
  }
  for (const { from, isFolded, to, width } of axis.pieces) {
    if (isFolded) continue
    const step = stepOf(to - from, Math.max(1, Math.floor((count * width) / 100)))
    const elapsed = from - axis.from
    add(from, elapsed === 0 ? "0" : label(elapsed), true)
    for (let passed = step; passed <= to - from; passed += step) {
      add(from + passed, elapsed === 0 ? label(passed) : `+${label(passed)}`, false)
    }
  }
  return ticks
}
