import { readFileSync } from "node:fs"
import { join } from "node:path"

/** A file of a bundle, and how large it is. */
export interface Chunk {
  readonly file: string
  readonly bytes: number
}

const imports = /(?:^|[\n;])(?:import|export)\b(?:[^;"'\n]*\bfrom)?\s*"\.\/([^"]+)"/gu

/**
 * What is loaded with an entry of a bundle, in this order: the chunks that it imports, and those that these do, without
 * what is imported when it is needed.
 */
export const loadedWith = (bundle: string, entry: string): ReadonlyArray<Chunk> => {
  const loaded = new Map<string, Chunk>()
  const load = (file: string) => {
    if (loaded.has(file)) return
    const text = readFileSync(join(bundle, file), "utf8")
    loaded.set(file, { file, bytes: text.length })
    for (const [, imported = ""] of text.matchAll(imports)) load(imported)
  }
  load(entry)
  return [...loaded.values()]
}
