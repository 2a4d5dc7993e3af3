import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { bundle, folderOfBundle, isWithoutBundler } from "./build.mjs"

const root = resolve(import.meta.dirname, "..")

/** Adds the settings of `.env`, or of the file that is named instead, to what the environment does not have itself. */
const readEnvFile = () => {
  const named = process.env.AGENTD_ENV_FILE || undefined
  const path = named ?? join(root, ".env")
  if (named === undefined && !existsSync(path)) return
  try {
    process.loadEnvFile(path)
  } catch (error) {
    process.stderr.write(`agentd: the settings in ${path} can't be read: ${error.message}\n`)
    process.exit(1)
  }
}

/**
 * Loads an entry of the bundle of the present sources, which is made first where it is not there. Where none can
 * be made (the bundler is left out, the folder is not ours to write) the sources run as they are. What is loaded finds
 * the settings of the file as if they were in the environment.
 */
export const load = async (entry) => {
  readEnvFile()
  const folder = folderOfBundle()
  try {
    if (!existsSync(folder)) await bundle(folder)
  } catch (error) {
    if (!isWithoutBundler(error)) process.stderr.write(`agentd: there is no bundle: ${error.message}\n`)
    return import(`../src/${entry}.ts`)
  }
  return import(pathToFileURL(join(folder, `${entry}.js`)).href)
}
