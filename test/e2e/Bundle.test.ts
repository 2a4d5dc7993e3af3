import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { copiedTree } from "../support/CopiedTree.ts"

const root = resolve(import.meta.dirname, "../..")

/** What `npm start` and `npm run agentd` run: the bundle of the sources as they are now. */
describe("the bundle", () => {
  const folder = copiedTree()
  afterAll(() => Fs.rmSync(folder, { recursive: true, force: true }))

  const version = () => {
    const { stderr, stdout } = spawnSync(process.execPath, ["scripts/agentd.mjs", "--version"], {
      cwd: folder,
      encoding: "utf8"
    })
    return `${stdout}${stderr}`
  }
  const setVersion = (text: string) => {
    const path = join(folder, "src/Schemas/Version.ts")
    Fs.writeFileSync(path, Fs.readFileSync(path, "utf8").replace(/version = "[^"]*"/, `version = "${text}"`))
  }
  const bundles = () => Fs.readdirSync(join(folder, "dist"))

  it("is made anew when the sources have changed, whatever their dates say, and is used again", () => {
    setVersion("7.7.1")
    const path = join(folder, "src/Schemas/Version.ts")
    const { atime, mtime } = Fs.statSync(path)
    assert.include(version(), "7.7.1")
    const [first] = bundles()
    setVersion("7.7.2")
    Fs.utimesSync(path, atime, mtime)
    assert.include(version(), "7.7.2")
    assert.strictEqual(bundles().length, 2)
    setVersion("7.7.1")
    const before = Fs.statSync(join(folder, "dist", first ?? "")).mtimeMs
    assert.include(version(), "7.7.1")
    assert.strictEqual(Fs.statSync(join(folder, "dist", first ?? "")).mtimeMs, before)
  })

  it("leaves three at the most", () => {
    for (const text of ["7.8.1", "7.8.2", "7.8.3"]) {
      setVersion(text)
      assert.include(version(), text)
    }
    assert.strictEqual(bundles().length, 3)
  })

  it("is for everybody who may read the sources, with its template, and clears up after those killed", () => {
    const dist = join(folder, "dist")
    for (const name of ["new-abandoned", "new-in-work"]) Fs.mkdirSync(join(dist, name))
    Fs.utimesSync(join(dist, "new-abandoned"), 0, 0)
    for (const name of ["console", "tsconfig.json"])
      Fs.cpSync(join(root, name), join(folder, name), { recursive: true })
    setVersion("7.8.4")
    const { status, stderr } = spawnSync(process.execPath, ["scripts/build.mjs"], {
      cwd: folder,
      encoding: "utf8"
    })
    assert.strictEqual(status, 0, stderr)
    assert.isFalse(Fs.existsSync(join(dist, "new-abandoned")))
    assert.isTrue(Fs.existsSync(join(dist, "new-in-work")))
    Fs.rmdirSync(join(dist, "new-in-work"))
    const newest = bundles()
      .map((name) => join(dist, name))
      .sort((a, b) => Fs.statSync(b).mtimeMs - Fs.statSync(a).mtimeMs)[0]
    assert.isTrue(Fs.existsSync(join(newest ?? "", "template/manifest.json")))
    assert.isTrue(Fs.existsSync(join(newest ?? "", "console/index.html")))
    const sharedMode = Fs.statSync(dist).mode & 0o777
    for (const name of Fs.readdirSync(dist, { recursive: true, encoding: "utf8" })) {
      const entry = Fs.statSync(join(dist, name))
      assert.strictEqual(entry.mode & 0o777, entry.isDirectory() ? sharedMode : sharedMode & 0o666, name)
    }
  })

  it("is no need: without the bundler the sources run as they are", () => {
    Fs.rmSync(join(folder, "node_modules/rolldown"))
    Fs.rmSync(join(folder, "dist"), { recursive: true })
    setVersion("7.9.1")
    assert.include(version(), "7.9.1")
    assert.isFalse(Fs.existsSync(join(folder, "dist")))
  })
})
