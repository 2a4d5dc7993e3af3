import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { bundle, folderOfBundle, isWithoutBundler } from "./build.mjs"

/**
 * Loads an entry of the bundle of the present sources, which is made first where it is not there. Where none can
 * be made (the bundler is left out, the folder is not ours to write) the sources run as they are.
 */
export const load = async (entry) => {
  const folder = folderOfBundle()
  try {
    if (!existsSync(folder)) await bundle(folder)
  } catch (error) {
    if (!isWithoutBundler(error)) process.stderr.write(`agentd: there is no bundle: ${error.message}\n`)
    return import(`../src/${entry}.ts`)
  }
  return import(pathToFileURL(join(folder, `${entry}.js`)).href)
}
