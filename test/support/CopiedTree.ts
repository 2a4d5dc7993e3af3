import * as Fs from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

/** What a bundle is made of, in a folder of its own, with links to the packages that are installed here. */
export const copiedTree = (more: ReadonlyArray<string> = []): string => {
  const folder = Fs.mkdtempSync(join(tmpdir(), "agentd-bundle-"))
  for (const name of ["package.json", "package-lock.json", "scripts", "src", ...more])
    Fs.cpSync(join(root, name), join(folder, name), { recursive: true })
  Fs.mkdirSync(join(folder, "node_modules"))
  for (const name of Fs.readdirSync(join(root, "node_modules"))) {
    if (!name.startsWith("."))
      Fs.symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  }
  return folder
}
