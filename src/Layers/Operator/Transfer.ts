import { randomUUID } from "node:crypto"
import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TransferError } from "../../Schemas/Transfer.ts"
import { Transfer } from "../../Services/Transfer.ts"
import { writeStderr } from "../Output.ts"
import * as Settings from "../Settings.ts"
import { exportTo, failed } from "./Export.ts"
import { linesOf } from "./Lines.ts"
import { reach, serverRuns } from "./Reach.ts"

/** In the folder that a server of the embedded database can write to as well. */
const folderOfExports = Effect.map(Settings.database, ({ dataDir, url }) =>
  Option.isSome(url) || !Fs.existsSync(dataDir) ? tmpdir() : dataDir
)

/**
 * Exports to a file, or to standard output. The database is read as fast as the disk takes it, into a file of
 * its own first: whoever reads slowly holds up nobody. Where no server has the database open, `opened` opens it.
 */
export const exportData = Effect.fnUntraced(function* <E, R>(
  file: Option.Option<string>,
  opened: (work: ReturnType<typeof exportTo>) => Effect.Effect<number, E, R>
) {
  const path = join(yield* folderOfExports, `export-${randomUUID()}`)
  return yield* Effect.gen(function* () {
    const rows = yield* reach({
      here: Effect.suspend(() => {
        // Of a server that died while it wrote.
        Fs.rmSync(path, { force: true })
        return opened(exportTo(path))
      }),
      throughServer: (client) => Effect.map(client.transfer.export({ payload: { path } }), ({ rows }) => rows)
    })
    yield* Effect.tryPromise({
      try: async () => {
        if (Option.isNone(file)) return pipeline(Fs.createReadStream(path), process.stdout, { end: false })
        const target = resolve(file.value)
        const unfinished = `${target}.new`
        try {
          Fs.copyFileSync(path, unfinished)
          Fs.renameSync(unfinished, target)
        } finally {
          Fs.rmSync(unfinished, { force: true })
        }
      },
      catch: failed("the export can't be handed over")
    })
    yield* writeStderr(
      `agentd: ${rows} rows exported. Secrets in them stay sealed: take AGENTD_SECRET_KEY, or secret.key of ` +
        "the data folder, to where they go"
    )
  }).pipe(Effect.ensuring(Effect.sync(() => Fs.rmSync(path, { force: true }))))
})

const importFrom = (file: Option.Option<string>) =>
  Effect.flatMap(Transfer, (transfer) =>
    transfer.read(
      Stream.suspend(() => {
        const input = Option.isSome(file) ? Fs.createReadStream(file.value) : process.stdin
        return Stream.fromAsyncIterable(linesOf(input), failed("the export can't be read"))
      })
    )
  )

/** Imports from a file, or from standard input, into the database of this process's environment. */
export const importData = Effect.fnUntraced(function* <E, R>(
  file: Option.Option<string>,
  opened: (work: ReturnType<typeof importFrom>) => Effect.Effect<number, E, R>
) {
  if (yield* serverRuns) {
    return yield* new TransferError({
      error: "a server has the database open: stop it, and import into a new data folder"
    })
  }
  const rows = yield* opened(importFrom(file))
  yield* writeStderr(`agentd: ${rows} rows imported`)
})
