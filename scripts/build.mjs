import { spawn } from "node:child_process"
import { createHash, randomUUID } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"

const root = Path.resolve(import.meta.dirname, "..")
const dist = Path.join(root, "dist")
/** A process that runs an older bundle may still load parts of it. */
const kept = 3

const entries = {
  main: "src/main.ts",
  cli: "src/cli.ts",
  "postgres-worker": "src/Layers/Repo/Postgres/Embedded/worker.ts",
  "schema-check-worker": "src/Layers/Tools/SchemaCheck/worker.ts"
}

const filesIn = (folder, pattern) =>
  Fs.existsSync(Path.join(root, folder))
    ? Fs.readdirSync(Path.join(root, folder), { recursive: true })
        .filter((name) => pattern.test(name))
        .sort()
        .map((name) => Path.join(folder, name))
    : []

const sourcesOfConsole = () => filesIn("console", /\.(css|html|json|svg|tsx?)$/)

const hashOf = (paths) => {
  const hash = createHash("sha256")
  for (const path of paths) {
    const content = Fs.readFileSync(Path.join(root, path))
    hash.update(`${path}\n${content.length}\n`).update(content)
  }
  return hash.digest("hex").slice(0, 16)
}

/**
 * Where the bundle of these very sources is, or would be: a folder named by a hash of their contents, of the
 * lock file and of what bundles them. So a bundle is current or it is not found.
 */
export const folderOfBundle = () => {
  const sources = [...filesIn("src", /\.ts$/), ...sourcesOfConsole()]
  const others = ["package-lock.json", "scripts/build.mjs", "scripts/console.mjs"]
  return Path.join(dist, hashOf([...sources, ...others]))
}

const pgliteVersion = () =>
  JSON.parse(Fs.readFileSync(Path.join(root, "package-lock.json"), "utf8")).packages[
    "node_modules/@electric-sql/pglite"
  ].version

/** The bundles that are there, the newest first. */
const bundles = () =>
  Fs.readdirSync(dist)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map((name) => Path.join(dist, name))
    .sort((a, b) => Fs.statSync(b).mtimeMs - Fs.statSync(a).mtimeMs)

const templateOfSameVersion = () =>
  bundles()
    .map((folder) => Path.join(folder, "template"))
    .find((template) => {
      const manifest = Path.join(template, "manifest.json")
      return (
        Fs.existsSync(manifest) && JSON.parse(Fs.readFileSync(manifest, "utf8")).pglite === pgliteVersion()
      )
    })

/** The console knows nothing else of the sources (test/support/Rooms.ts). */
const hashOfConsole = () => {
  const known = ["src/Api", "src/Schemas"].flatMap((folder) => filesIn(folder, /\.ts$/))
  return hashOf([...sourcesOfConsole(), ...known, "package-lock.json", "scripts/console.mjs"])
}

const madeOf = "made-of"

const consoleOfSameSources = (hash) =>
  bundles()
    .map((folder) => Path.join(folder, "console"))
    .find((folder) => {
      const path = Path.join(folder, madeOf)
      return Fs.existsSync(path) && Fs.readFileSync(path, "utf8") === hash
    })

/** Longer than anything here takes to be made. */
const abandonedAfterMillis = 3_600_000

/** A new folder for what is made. Removes those whose makers were killed. */
const unfinishedFolder = () => {
  Fs.mkdirSync(dist, { recursive: true })
  for (const name of Fs.readdirSync(dist)) {
    const path = Path.join(dist, name)
    const { mtimeMs = Infinity } = Fs.statSync(path, { throwIfNoEntry: false }) ?? {}
    const isOld = name.startsWith("new-") && mtimeMs < Date.now() - abandonedAfterMillis
    if (isOld) Fs.rmSync(path, { recursive: true, force: true })
  }
  const folder = Path.join(dist, `new-${randomUUID()}`)
  Fs.mkdirSync(folder)
  return folder
}

/** For everybody who may look into `dist`: who installs is often not who starts. */
const share = (folder) => {
  const mode = Fs.statSync(dist).mode & 0o777
  const entries = Fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    Fs.chmodSync(Path.join(entry.parentPath, entry.name), entry.isDirectory() ? mode : mode & 0o666)
  }
  Fs.chmodSync(folder, mode)
}

/** Code that was cut off by a loss of power would be found, and run, for ever. */
const sync = (folder) => {
  for (const entry of Fs.readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const fd = Fs.openSync(Path.join(folder, entry.name), "r+")
    Fs.fsyncSync(fd)
    Fs.closeSync(fd)
  }
}

/** Puts a finished folder in its place. Whoever comes second finds the same thing there. */
const publish = (unfinished, folder) => {
  share(unfinished)
  sync(unfinished)
  try {
    Fs.renameSync(unfinished, folder)
  } catch (error) {
    if (!Fs.existsSync(folder)) throw error
    Fs.rmSync(unfinished, { recursive: true, force: true })
  }
}

/** In a process of its own: what the tools of the console set, hold or break is gone with it. */
const buildConsole = (folder) =>
  new Promise((done, failed) => {
    const child = spawn(process.execPath, [Path.join(root, "scripts/console.mjs"), folder], {
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let text = ""
    child.stderr.on("data", (piece) => {
      text += piece
    })
    child.once("error", failed)
    child.once("close", (code) => {
      if (code === 0) done()
      else failed(new Error(text.trim() || `its build ended with ${code}`))
    })
  })

/**
 * Puts the console of these sources into a new folder: that of an earlier bundle, where these are the same. One
 * that can't be built is told of and left out, as everything else works without it.
 */
const makeConsole = async (folder) => {
  try {
    const hash = hashOfConsole()
    const same = consoleOfSameSources(hash)
    if (same !== undefined) Fs.cpSync(same, folder, { recursive: true })
    else await buildConsole(folder)
    Fs.writeFileSync(Path.join(folder, madeOf), hash)
    sync(folder)
  } catch (error) {
    Fs.rmSync(folder, { recursive: true, force: true })
    process.stderr.write(`agentd: the web console was not built: ${error.message}\n`)
  }
}

/** Bundles the sources into a folder that appears as a whole. Removes all but the latest few. */
export const bundle = async (folder) => {
  const { rolldown } = await import("rolldown")
  const unfinished = unfinishedFolder()
  const console = makeConsole(Path.join(unfinished, "console"))
  const made = await rolldown({
    cwd: root,
    input: entries,
    platform: "node",
    // PGlite finds its data files beside its own, and the names that undici exports are known at run time only.
    external: [/^@electric-sql\/pglite/, "undici"]
  })
  await made.write({ dir: unfinished, format: "esm" })
  await console
  const template = templateOfSameVersion()
  if (template !== undefined) Fs.cpSync(template, Path.join(unfinished, "template"), { recursive: true })
  publish(unfinished, folder)
  for (const old of bundles().slice(kept)) Fs.rmSync(old, { recursive: true, force: true })
}

/** `npm ci --omit=dev` leaves the bundler out; the sources run as they are then. */
export const isWithoutBundler = (error) =>
  error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes("'rolldown'")

const addConsole = async (folder) => {
  if (Fs.existsSync(Path.join(folder, "console"))) return
  const unfinished = unfinishedFolder()
  await makeConsole(unfinished)
  if (Fs.existsSync(unfinished)) publish(unfinished, Path.join(folder, "console"))
}

const addTemplate = async (folder) => {
  if (Fs.existsSync(Path.join(folder, "template"))) return
  const { makeTemplate } = await import("./template.ts")
  const unfinished = unfinishedFolder()
  await makeTemplate(unfinished, pgliteVersion())
  publish(unfinished, Path.join(folder, "template"))
}

/** All that `npm start` looks for. Answers whether the console is part of it. */
const build = async () => {
  const folder = folderOfBundle()
  if (!Fs.existsSync(folder)) await bundle(folder)
  else await addConsole(folder)
  await addTemplate(folder)
  return Fs.existsSync(Path.join(folder, "console"))
}

/** What npm has just said so often of every package that needs a newer Node.js than its own; nothing can keep it quiet. */
const explainEngines = () => {
  const [, ofNpm] = / node\/v(\d+)\./.exec(process.env.npm_config_user_agent ?? "") ?? []
  const own = Number(process.versions.node.split(".")[0])
  if (ofNpm === undefined || Number(ofNpm) >= own) return
  process.stderr.write(
    `agentd: the EBADENGINE warnings are about Node.js ${ofNpm}, which npm runs on; agentd runs on the ` +
      `Node.js ${process.versions.node} that was installed with it\n`
  )
}

if (import.meta.main) {
  const isIfPossible = process.argv.includes("--if-possible")
  if (isIfPossible) explainEngines()
  const isWhole = await build().catch((error) => {
    // These only make starts faster: an installation does not fail for want of them.
    if (!isIfPossible) throw error
    const reason = isWithoutBundler(error) ? "the bundler is not installed" : error.message
    process.stderr.write(`agentd: no bundle or no template of a database was made: ${reason}\n`)
    return false
  })
  if (!isWhole && !isIfPossible) process.exitCode = 1
}
