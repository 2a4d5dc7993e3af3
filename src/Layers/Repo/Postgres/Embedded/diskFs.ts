import * as Fs from "node:fs"
import * as Path from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import { exitCodes } from "./messages.ts"
import { segmentStart } from "./wal.ts"

type EmscriptenOptions = Parameters<NodeFS["init"]>[1]

interface OpenFile {
  readonly nfd?: number
  readonly node: { readonly name: string }
}

type Transfer = (stream: OpenFile, buffer: Uint8Array, offset: number, length: number, at: number) => number

/** The part of Emscripten's NODEFS, internal to the pinned PGlite, that is changed here. */
interface NodeOperations {
  readonly realPath: (node: unknown) => string
  readonly node_ops: {
    mknod: (parent: unknown, name: string, mode: number, device: number) => unknown
    setattr: (node: unknown, attributes: { mode?: number }) => void
  }
  readonly stream_ops: {
    read: Transfer
    write: Transfer
    fsync?: (stream: OpenFile) => number
  }
}

interface PostgresModule {
  readonly NODEFS: NodeOperations
  readonly FS: {
    readonly mkdirTree: (path: string) => void
    readonly mount: (type: NodeOperations, options: { readonly root: string }, path: string) => void
  }
}

const ownerOnly = (mode: number): number => mode & ~0o077

/** Makes the content of a file, or the entries of a folder, survive a loss of power. */
const fsyncPath = (path: string): void => {
  const fd = Fs.openSync(path, "r")
  try {
    Fs.fsyncSync(fd)
  } finally {
    Fs.closeSync(fd)
  }
}

/** Like `fsyncPath` for a folder; does nothing where folders can't be opened. */
export const fsyncFolder = (path: string): void => {
  if (process.platform !== "win32") fsyncPath(path)
}

const fsyncsAtOnce = 16

/** Makes a folder and everything in it survive a loss of power. Several at once: the disk joins their work. */
export const fsyncTree = async (root: string): Promise<void> => {
  const entries = Fs.readdirSync(root, { withFileTypes: true, recursive: true })
  const pathsOf = (kind: "isFile" | "isDirectory") =>
    entries.filter((entry) => entry[kind]()).map((entry) => Path.join(entry.parentPath, entry.name))
  const files = pathsOf("isFile").values()
  const worker = async (): Promise<void> => {
    for (const path of files) {
      const file = await Fs.promises.open(path, "r")
      await file.sync().finally(() => file.close())
    }
  }
  await Promise.all(Array.from({ length: fsyncsAtOnce }, worker))
  for (const path of [...pathsOf("isDirectory"), root]) fsyncFolder(path)
}

/**
 * PGlite's folder on disk, with what PGlite leaves out: fsync reaches the disk,
 * and files are readable by their owner alone.
 */
export class DiskFs extends NodeFS {
  /** How often PostgreSQL asked for an fsync and got it. */
  fsyncs = 0
  /** How far the WAL was read, and written, as a position in it. */
  walRead = 0
  walWritten = 0
  /** Called with everything that is read, written or synced. */
  onWork: (() => void) | undefined
  override async init(pg: PGlite, options: EmscriptenOptions) {
    this.pg = pg
    const mount = (module: PostgresModule): void => {
      this.#change(module.NODEFS)
      module.FS.mkdirTree(PGlite.paths.PGDATA)
      module.FS.mount(module.NODEFS, { root: this.rootDir }, PGlite.paths.PGDATA)
    }
    const emscriptenOpts = {
      ...options,
      onAbort: () => process.exit(exitCodes.aborted),
      preRun: [...((options.preRun as Array<unknown> | undefined) ?? []), mount]
    } as unknown as EmscriptenOptions
    return { emscriptenOpts }
  }

  #change(nodefs: NodeOperations): void {
    const { mknod, setattr } = nodefs.node_ops
    nodefs.node_ops.mknod = (parent, name, mode, device) => mknod(parent, name, ownerOnly(mode), device)
    nodefs.node_ops.setattr = (node, attributes) =>
      setattr(
        node,
        attributes.mode === undefined ? attributes : { ...attributes, mode: ownerOnly(attributes.mode) }
      )
    const { read, write } = nodefs.stream_ops
    nodefs.stream_ops.read = (stream, buffer, offset, length, at) => {
      const start = segmentStart(stream.node.name)
      if (start !== undefined) this.walRead = Math.max(this.walRead, start + at + length)
      this.onWork?.()
      return read(stream, buffer, offset, length, at)
    }
    nodefs.stream_ops.write = (stream, buffer, offset, length, at) => {
      const start = segmentStart(stream.node.name)
      if (start !== undefined) this.walWritten = Math.max(this.walWritten, start + at + length)
      this.onWork?.()
      return write(stream, buffer, offset, length, at)
    }
    nodefs.stream_ops.fsync = (stream) => {
      this.onWork?.()
      try {
        if (stream.nfd === undefined) fsyncFolder(nodefs.realPath(stream.node))
        else Fs.fsyncSync(stream.nfd)
      } catch {
        // What the kernel has dropped can't be synced by a second try, and PGlite
        // swallows a PANIC: only a new start, from the WAL, tells what is on disk.
        process.exit(exitCodes.diskFailed)
      }
      this.fsyncs++
      return 0
    }
  }
}
