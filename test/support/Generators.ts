import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"

/** Clients that others generate and linters: a folder of its own, so that `npm ci` stays quick. */
export const folder = resolve(import.meta.dirname, "../generators")

/** Suites that need what is installed there have this in their names. */
export const isInstalled = existsSync(join(folder, "node_modules/.package-lock.json"))
export const needed = "npm ci in test/generators"

/** Runs a command of the folder in it: what it printed, and its exit code. */
export const run = (script: string, ...words: ReadonlyArray<string>) => {
  const path = join(folder, "node_modules", script)
  const env = { ...process.env, NO_COLOR: "1", CI: "true" }
  const { status, stderr, stdout } = spawnSync(process.execPath, [path, ...words], {
    cwd: folder,
    encoding: "utf8",
    env
  })
  return { status, stdout, output: `${stdout}${stderr}` }
}

/** A module of the folder: what it imports is generated, so that no compiler sees it from here. */
export const load = (file: string): Promise<unknown> => import(pathToFileURL(join(folder, file)).href)
