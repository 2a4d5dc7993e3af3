import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import { TransferError } from "../../Schemas/Transfer.ts"
import { Transfer } from "../../Services/Transfer.ts"

export const failed = (what: string) => (cause: unknown) =>
  new TransferError({ error: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })

/** Writes everything to a new file that its owner alone can read. Answers how many rows it has. */
export const exportTo = Effect.fnUntraced(function* (path: string) {
  const transfer = yield* Transfer
  return yield* Effect.acquireUseRelease(
    Effect.try({
      try: () => Fs.openSync(path, "wx", 0o600),
      catch: failed(`${path} can't be written to`)
    }),
    (fd) =>
      Effect.gen(function* () {
        const rows = yield* transfer.write((lines) =>
          Effect.try({
            try: () => void Fs.writeFileSync(fd, `${lines.join("\n")}\n`),
            catch: failed(`${path} can't be written to`)
          })
        )
        Fs.fsyncSync(fd)
        return rows
      }),
    (fd) => Effect.sync(() => Fs.closeSync(fd))
  )
})
