import * as Fs from "node:fs"
import * as Path from "node:path"

const segmentBytes = 16 * 1024 * 1024
const pageBytes = 8192

/** A stretch of the WAL, by its positions in bytes. */
export interface WalRange {
  readonly from: number
  readonly to: number
}

/** Where the segment of this name begins, if it is one. The first 8 digits are those of the timeline. */
export const segmentStart = (name: string): number | undefined =>
  /^[0-9A-F]{24}$/.test(name)
    ? Number.parseInt(name.slice(8, 16), 16) * 2 ** 32 + Number.parseInt(name.slice(16), 16) * segmentBytes
    : undefined

// Of PostgreSQL 18 (catalog/pg_control.h): the state of the database, and from where it is to be replayed.
const stateOffset = 16
const redoOffset = 40
const shutDownStates: ReadonlySet<number> = new Set([1, 2])

/** Whether this page was written for this place: a recycled segment has those of an older one. */
const isWritten = (fd: number, start: number, offset: number): boolean => {
  const address = Buffer.alloc(8)
  return (
    Fs.readSync(fd, address, 0, 8, offset + 8) === 8 && Number(address.readBigUInt64LE()) === start + offset
  )
}

/** Where the written pages of a segment end. */
const endOf = (path: string, start: number): number => {
  const fd = Fs.openSync(path, "r")
  try {
    let [written, pages] = [0, segmentBytes / pageBytes]
    while (written < pages) {
      const middle = Math.floor((written + pages) / 2)
      if (isWritten(fd, start, middle * pageBytes)) written = middle + 1
      else pages = middle
    }
    return start + written * pageBytes
  } finally {
    Fs.closeSync(fd)
  }
}

/**
 * What the next start of a database folder has to replay, rounded to pages; none where it was shut down in order, or
 * can't be told.
 */
export const walToReplay = (directory: string): WalRange | undefined => {
  try {
    return rangeOf(directory)
  } catch {
    return undefined
  }
}

const rangeOf = (directory: string): WalRange | undefined => {
  const control = Fs.readFileSync(Path.join(directory, "global", "pg_control"))
  if (shutDownStates.has(control.readUInt32LE(stateOffset))) return undefined
  const from = Number(control.readBigUInt64LE(redoOffset))
  const folder = Path.join(directory, "pg_wal")
  let to = from
  for (const name of Fs.readdirSync(folder).sort()) {
    const start = segmentStart(name)
    if (start === undefined || start + segmentBytes <= from) continue
    const end = endOf(Path.join(folder, name), start)
    if (end > start) to = Math.max(to, end)
  }
  return { from, to }
}
