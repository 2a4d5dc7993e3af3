import { existsSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { bundle, folderOfBundle, isWithoutBundler } from "./build.mjs"

/** Loads an entry of the bundle of the present sources, which is made first where it is not there. */
export const load = async (entry) => {
  const folder = folderOfBundle()
  try {
    if (!existsSync(folder)) await bundle(folder)
  } catch (error) {
    if (!isWithoutBundler(error)) throw error
    return import(`../src/${entry}.ts`)
  }
  return import(pathToFileURL(join(folder, `${entry}.js`)).href)
}
