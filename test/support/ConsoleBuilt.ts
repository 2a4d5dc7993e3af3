import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"

const root = resolve(import.meta.dirname, "../..")

/** The console of these very sources, as `npm ci` builds it; made first where it is not there. */
export const builtConsole = async (): Promise<string> => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/build.mjs"], {
    cwd: root,
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stderr)
  const { folderOfBundle } = await import(pathToFileURL(join(root, "scripts/build.mjs")).href)
  return join(folderOfBundle(), "console")
}

/** Its files by their names, without what they were compressed to. */
export const textsOf = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder)
      .filter((name) => /\.(css|html|js|svg)$/u.test(name))
      .map((name) => [name, readFileSync(join(folder, name), "utf8")])
  )

const statics = /(?:^|[;}\n])\s*(?:import|export)\b[^"'();]*?["']\.\/([^"']+)["']/gu

/** What the page asks for before anything is clicked: what it names, and what these import at once. */
export const firstView = (texts: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const html = texts.get("index.html") ?? ""
  const found = new Set(["index.html"])
  const add = (name: string) => {
    if (found.has(name)) return
    found.add(name)
    for (const [, imported = ""] of (texts.get(name) ?? "").matchAll(statics)) add(imported)
  }
  for (const [, name = ""] of html.matchAll(/(?:src|href)="\/console\/([^"]+)"/gu)) add(name)
  return [...found]
}

export const gzipped = (text: string): number => gzipSync(text, { level: 9 }).length
