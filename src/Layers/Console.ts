import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BuiltConsole } from "../Services/ConsoleFiles.ts"
import { read } from "./Console/Files.ts"

// Bundled, the console lies beside the chunk that this is part of (scripts/build.mjs).
const isBundled = !import.meta.url.endsWith(".ts")
const dist = fileURLToPath(new URL("../../dist", import.meta.url))

const ownFolder = (): string | undefined =>
  isBundled ? fileURLToPath(new URL("./console", import.meta.url)) : latestIn(dist)

/** For the sources as they are, which are no bundle's: the console that was built last. */
const latestIn = (folder: string): string | undefined => {
  if (!existsSync(folder)) return undefined
  const [latest] = readdirSync(folder)
    .filter((name) => /^([0-9a-f]{16}|console)$/u.test(name))
    .map((name) => join(folder, name === "console" ? "" : name, "console"))
    .filter((path) => existsSync(path))
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  return latest?.path
}

const load = Effect.gen(function* () {
  const folder = ownFolder()
  const files = folder === undefined ? undefined : yield* read(folder)
  if (files === undefined) yield* Effect.logInfo("the web console was not built: `npm run build` makes it")
  return files
}).pipe(
  Effect.catchCause((cause) =>
    Effect.as(Effect.logWarning("the web console can't be read", cause), undefined)
  )
)

/** The console in the folder of the bundle; nothing of it is looked at before a browser asks. */
export const layer = Layer.effect(BuiltConsole, Effect.cached(Effect.uninterruptible(load)))
