import * as Fs from "node:fs"
import * as Path from "node:path"
import { parentPort, workerData } from "node:worker_threads"
import { PGlite } from "@electric-sql/pglite"
import { DiskFs, fsyncFolder, fsyncTree } from "./diskFs.ts"
import type { Reply, Request, WorkerOptions } from "./messages.ts"
import * as Template from "./template.ts"
import { walToReplay } from "./wal.ts"

const flushAt = 256 * 1024
const tellOpeningMillis = 250

const startParams = [
  ...PGlite.defaultStartParams.filter((param) => param !== "-F"),
  ...[
    "wal_sync_method=fsync",
    "shared_buffers=16MB",
    "wal_buffers=1MB",
    "timezone=UTC",
    // What a checkpoint leaves behind: no more than is written until the next one.
    "min_wal_size=32MB",
    "max_wal_size=96MB"
  ].flatMap((setting) => ["-c", setting])
]

const { directory, template } = workerData as WorkerOptions
if (parentPort === null) throw new Error("This module is the entry of a worker thread")
const port = parentPort

const tell = (reply: Reply): void =>
  port.postMessage(reply, reply.kind === "data" ? [reply.bytes.buffer] : [])

/** Says that the database gets on with being opened, and how far the replay of its WAL is. */
const tellOpening = (fs: DiskFs, directory: string): ((isOpen: boolean) => void) => {
  const wal = Fs.existsSync(Path.join(directory, "PG_VERSION")) ? walToReplay(directory) : undefined
  const total = wal === undefined ? 0 : wal.to - wal.from
  let toldAt = Number.NEGATIVE_INFINITY
  return (isOpen) => {
    const at = performance.now()
    if (at < toldAt + tellOpeningMillis && !isOpen) return
    toldAt = at
    const replayed = Math.min(Math.max(fs.walRead - (wal?.from ?? 0), 0), total)
    tell({ kind: "opening", recovery: total === 0 ? undefined : { replayed, total } })
  }
}

const open = async (fs: DiskFs, directory: string, params: Array<string>): Promise<PGlite> => {
  const tellProgress = tellOpening(fs, directory)
  fs.onWork = () => tellProgress(false)
  const said: Array<string> = []
  try {
    const postgres = new PGlite({
      fs,
      startParams: params,
      onStderr: (line: string) => {
        said.push(line)
        if (said.length > 8) said.shift()
        return false
      }
    })
    await postgres.waitReady
    fs.onWork = undefined
    tellProgress(true)
    return postgres
  } catch (cause) {
    // PGlite says only that it failed; PostgreSQL has said why.
    const lastWords = said.flatMap((line) => /(?:FATAL|PANIC): .*/.exec(line)?.[0] ?? []).at(-1)
    throw lastWords === undefined ? cause : new Error(lastWords, { cause })
  }
}

/**
 * A kill at any moment leaves either no database folder or a whole one. Where
 * it is not copied, the caller then ends this thread, which gives back the
 * memory that this took.
 */
const make = async (): Promise<"copied" | "made"> => {
  const unfinished = `${directory}.new`
  const empty = (): void => {
    Fs.rmSync(unfinished, { recursive: true, force: true })
    Fs.mkdirSync(unfinished, { mode: 0o700 })
  }
  empty()
  const copied = template !== undefined && Template.copyTo(template, unfinished)
  if (!copied) {
    empty()
    const postgres = await open(new DiskFs(unfinished), unfinished, PGlite.defaultStartParams)
    await postgres.close()
  }
  await fsyncTree(unfinished)
  Fs.renameSync(unfinished, directory)
  fsyncFolder(Path.dirname(directory))
  return copied ? "copied" : "made"
}

const simpleQuery = (sql: string): Uint8Array => {
  const text = new TextEncoder().encode(sql)
  const frame = new Uint8Array(text.length + 6)
  frame[0] = 0x51
  new DataView(frame.buffer).setUint32(1, text.length + 5)
  frame.set(text, 5)
  return frame
}

// The Sync comes first: after an error PostgreSQL skips everything up to one.
const resetFrames = [Uint8Array.of(0x53, 0, 0, 0, 4), simpleQuery("ROLLBACK"), simpleQuery("DISCARD ALL")]

const serve = (fs: DiskFs, postgres: PGlite): void => {
  const answer = async (bytes: Uint8Array): Promise<void> => {
    let chunks: Array<Uint8Array> = []
    let size = 0
    const flush = (): void => {
      if (size === 0) return
      const joined = new Uint8Array(size)
      let at = 0
      for (const chunk of chunks) {
        joined.set(chunk, at)
        at += chunk.length
      }
      chunks = []
      size = 0
      tell({ kind: "data", bytes: joined })
    }
    await postgres.execProtocolRawStream(bytes, {
      syncToFs: false,
      onRawData: (chunk) => {
        // A view into PostgreSQL's own memory, good only until this returns.
        chunks.push(chunk.slice())
        size += chunk.length
        if (size >= flushAt) flush()
      }
    })
    flush()
  }

  const handle = async (request: Request): Promise<void> => {
    if (request.kind === "close") {
      await postgres.close()
      return tell({ kind: "closed" })
    }
    if (request.newSession) {
      for (const frame of resetFrames) {
        await postgres.execProtocolRawStream(frame, { syncToFs: false, onRawData: () => {} })
      }
    }
    await answer(request.bytes)
    tell({ kind: "end", fsyncs: fs.fsyncs, wal: fs.walWritten })
  }

  // Whatever is thrown outside of PostgreSQL's own error handling ends the thread.
  let last = Promise.resolve()
  port.on("message", (request: Request) => {
    last = last.then(() => handle(request))
  })
  tell({ kind: "ready" })
}

try {
  const isThere = Fs.existsSync(Path.join(directory, "PG_VERSION"))
  if (isThere || (await make()) === "copied") {
    const fs = new DiskFs(directory)
    serve(fs, await open(fs, directory, startParams))
  } else {
    tell({ kind: "made" })
  }
} catch (error) {
  tell({ kind: "failed", reason: error instanceof Error ? error.message : String(error) })
}
