import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const source = resolve(import.meta.dirname, "../src")

const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts")
)

const importsOf = (file: string): ReadonlyArray<string> => {
  const text = readFileSync(join(source, file), "utf8")
  const pattern = /(?:from|import)\s*\(?\s*"([^"]+)"/g
  return Array.from(text.matchAll(pattern), ([, path]) => path ?? "")
}

/** What an import names: a path below src, or a package. */
const targetOf = (file: string, path: string): string =>
  path.startsWith(".") ? relative(source, resolve(source, dirname(file), path)) : path

const roomOf = (path: string): string => {
  const [room, family] = path.split("/")
  return room === "Layers" && family !== undefined ? `Layers/${family.replace(/\.ts$/, "")}` : (room ?? "")
}

/** Modules of Effect that only adapters may know: SQL, HTTP, files, processes, the command line. */
const isOutside = (path: string): boolean =>
  !path.startsWith("effect/") || /^effect\/(http|http-api|sql|cli|process|socket|net|workers)\b/.test(path)

/** What a room may import besides itself (ARCHITECTURE.md, section 2). */
const rules: ReadonlyArray<{
  readonly room: RegExp
  readonly packages: (path: string) => boolean
  readonly rooms: (target: string) => boolean
}> = [
  // croner is pure computation: what is valid, what a preview shows and what fires must be one function.
  { room: /^Schemas$/, packages: (path) => !isOutside(path) || path === "croner", rooms: () => false },
  {
    room: /^Api$/,
    packages: (path) => !isOutside(path) || path.startsWith("effect/http-api/"),
    rooms: (target) => target.startsWith("Schemas/")
  },
  {
    room: /^Services$/,
    packages: (path) => !isOutside(path),
    rooms: (target) => target.startsWith("Schemas/")
  },
  {
    room: /^Layers\/Http$/,
    packages: (path) => !/sql/.test(path),
    rooms: (target) => /^(Schemas|Api|Services)\//.test(target)
  },
  {
    room: /^Layers\/(Repo|Inference|Outbound|Scheduler|SecretBox|Tools|Auth)$/,
    packages: () => true,
    rooms: (target) => /^(Schemas|Services)\//.test(target) || target === "Api/Authorization.ts"
  }
]

describe("imports", () => {
  it("finds the sources", () => {
    assert.isAbove(files.length, 80)
  })

  for (const { packages, room, rooms } of rules) {
    const members = files.filter(
      (file) => room.test(roomOf(file)) && file.split("/").length > (roomOf(file).includes("/") ? 2 : 1)
    )
    it(`${room.source} knows only whom it may know`, () => {
      assert.isAbove(members.length + (room.source.includes("Repo") ? 1 : 0), 0)
      for (const file of members) {
        for (const path of importsOf(file)) {
          const target = targetOf(file, path)
          const allowed = path.startsWith(".")
            ? roomOf(target) === roomOf(file) || rooms(target)
            : packages(path)
          assert.isTrue(allowed, `${file} imports ${path}`)
        }
      }
    })
  }

  it("ports and adapters: adapters use ports, never use cases", () => {
    const useCases =
      /^Services\/(Access|Accounts|AgentLoop|Agents|Approvals|Chat|CronJobs|References|RunEvents|RunExecutor|RunWork|Runs)\.ts$/
    for (const file of files.filter((name) =>
      /^Layers\/(Repo|Inference|Outbound|Scheduler|Tools|Auth)\//.test(name)
    )) {
      for (const path of importsOf(file)) assert.notMatch(targetOf(file, path), useCases, file)
    }
  })

  it("SQL lives in Layers/Repo/Postgres", () => {
    for (const file of files) {
      const sql = importsOf(file).some((path) => /^(effect\/sql|@effect\/sql-pg|@electric-sql)/.test(path))
      if (sql) assert.isTrue(file.startsWith("Layers/Repo/Postgres"), file)
    }
  })

  it("no barrel files, no index", () => {
    assert.deepStrictEqual(
      files.filter((file) => file.endsWith("index.ts")),
      []
    )
  })
})
