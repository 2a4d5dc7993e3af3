import * as Fs from "node:fs"
import * as Path from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

const root = Path.resolve(import.meta.dirname, "../console")

/** Below this the head of an answer is the larger part of it. */
const leastBytes = 1_024

/** As src/Layers/Console/Files.ts finds them. */
const smaller = {
  ".br": (content) => brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  ".gz": (content) => gzipSync(content, { level: 9 })
}

/** Puts beside each file of a folder what it is smaller as. */
const compress = (folder) => {
  for (const name of Fs.readdirSync(folder)) {
    const path = Path.join(folder, name)
    const content = Fs.readFileSync(path)
    if (content.length < leastBytes || !/\.(css|html|js|svg)$/.test(name)) continue
    for (const [suffix, encode] of Object.entries(smaller)) {
      const encoded = encode(content)
      if (encoded.length < content.length) Fs.writeFileSync(path + suffix, encoded)
    }
  }
}

/** Builds the web console into a folder: `node scripts/console.mjs <folder>`. */
const [folder] = process.argv.slice(2)
try {
  const { build } = await import("vite")
  await build({
    configFile: Path.join(root, "vite.config.ts"),
    // The usual loader writes into node_modules.
    configLoader: "native",
    logLevel: "error",
    build: { outDir: Path.resolve(folder), emptyOutDir: true }
  })
  compress(folder)
} catch (error) {
  const isMissing = error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes("'vite'")
  process.stderr.write(isMissing ? "vite is not installed\n" : `${error.message}\n`)
  process.exitCode = 1
}
