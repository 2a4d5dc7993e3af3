import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import * as Effect from "effect/Effect"
import type { ConsoleFile, ConsoleFiles } from "../../Services/ConsoleFiles.ts"

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml; charset=utf-8",
  ".woff2": "font/woff2"
}

/** As scripts/console.mjs names what it has made smaller. */
const encodings = { br: ".br", gzip: ".gz" } as const

/**
 * All files of a folder that are of a known type, with what was made of them beforehand; undefined where there is no
 * `index.html`. What is sent later is what was there now, whatever becomes of the folder.
 */
export const read = (folder: string): Effect.Effect<ConsoleFiles | undefined> =>
  Effect.promise(async () => {
    const names = new Set(await namesIn(folder))
    if (!names.has("index.html")) return undefined
    const known = [...names].filter((name) => contentTypes[extname(name)] !== undefined)
    return new Map(
      await Promise.all(known.map(async (name) => [name, await readOne(folder, name, names)] as const))
    )
  })

const namesIn = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return []
    throw error
  }
}

const readOne = async (folder: string, name: string, names: ReadonlySet<string>): Promise<ConsoleFile> => {
  const bytesOf = (suffix: string) =>
    names.has(name + suffix) ? readFile(join(folder, name + suffix)) : undefined
  const [body, br, gzip] = await Promise.all([
    readFile(join(folder, name)),
    bytesOf(encodings.br),
    bytesOf(encodings.gzip)
  ])
  return {
    contentType: contentTypes[extname(name)] ?? "application/octet-stream",
    etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`,
    body,
    encoded: { ...(br !== undefined && { br }), ...(gzip !== undefined && { gzip }) }
  }
}
