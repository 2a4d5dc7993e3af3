import Fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as Effect from "effect/Effect"

const changing = ["mkdirSync", "writeFileSync", "renameSync", "openSync", "fsyncSync", "closeSync"] as const

/**
 * Does the work in a process that is gone at the `last` of its changes of files: it, and all that would come behind it,
 * is not done; of a file that is being written then, half is there. Says whether the work came that far.
 */
export const goneAt = <A, E, R>(last: number, work: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const kept = Object.fromEntries(changing.map((name) => [name, Fs[name]]))
      // Some are made of others, which are theirs.
      const state = { done: 0, isInside: false }
      for (const name of changing) {
        const original = Fs[name] as (...given: ReadonlyArray<unknown>) => unknown
        const real = (...given: ReadonlyArray<unknown>) => {
          state.isInside = true
          try {
            return original(...given)
          } finally {
            state.isInside = false
          }
        }
        const replaced = (...given: ReadonlyArray<unknown>) => {
          if (state.isInside) return original(...given)
          if (state.done++ < last) return real(...given)
          if (state.done === last + 1 && name === "writeFileSync") {
            const [path, text, ...rest] = given
            real(path, String(text).slice(0, String(text).length / 2), ...rest)
          }
          throw new Error("the process is gone")
        }
        Object.assign(Fs, { [name]: replaced })
      }
      syncBuiltinESMExports()
      return { kept, state }
    }),
    ({ state }) => Effect.map(Effect.exit(work), () => state.done > last),
    ({ kept }) =>
      Effect.sync(() => {
        Object.assign(Fs, kept)
        syncBuiltinESMExports()
      })
  )
