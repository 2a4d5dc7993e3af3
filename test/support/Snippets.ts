import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

/** The blocks of code of a page of docs/clients, by language, in their order. */
export const snippetsOf = (page: string, language: string): ReadonlyArray<string> => {
  const text = readFileSync(join(root, "docs/clients", page), "utf8")
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, code = ""]) => code
  )
}

/** A folder for code that finds the packages of this project. */
export const makeWorkshop = () => {
  const path = mkdtempSync(join(tmpdir(), "agentd-snippets-"))
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"))
  return {
    path,
    write: (name: string, code: string) => {
      const file = join(path, name)
      writeFileSync(file, code)
      return file
    },
    remove: () => rmSync(path, { recursive: true, force: true })
  }
}

/** The Python with the package `openai`: that of test/python, or the system's. */
const pythons = [join(root, "test/python/.venv/bin/python"), "python3"]
const imports = (python: string, module: string) =>
  spawnSync(python, ["-c", `import ${module}`], { stdio: "ignore" }).status === 0

/** A Python that has the module; nothing where there is none. */
export const pythonWith = (module: string): string | undefined =>
  pythons.find((python) => imports(python, module))

/** Runs a program to its end: what it printed, and its exit code. */
export const run = (
  command: string,
  words: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> =>
  new Promise((done) => {
    const child = spawn(command, words, { env: { ...process.env, NODE_NO_WARNINGS: "1", ...env } })
    let [stdout, stderr] = ["", ""]
    child.stdout.on("data", (chunk) => {
      stdout += chunk
    })
    child.stderr.on("data", (chunk) => {
      stderr += chunk
    })
    child.once("error", (error) => done({ code: null, stdout, stderr: String(error) }))
    child.once("close", (code) => done({ code, stdout, stderr }))
  })
