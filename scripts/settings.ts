import { readFileSync, writeFileSync } from "node:fs"
import { formOf, type Setting } from "../src/Schemas/Setting.ts"
import { groups } from "../src/Schemas/SettingsTable.ts"

const at = (path: string) => new URL(`../${path}`, import.meta.url)
const docs = "docs/settings.md"
const [begin, end] = ["<!-- made by `npm run settings` -->", "<!-- until here -->"]

const rowOf = (name: string, setting: Setting): string => {
  const fallback = setting.fallback === null ? "unset" : `\`${setting.fallback}\``
  const marks = [setting.secret === true ? " *s*" : "", setting.commands === true ? " *c*" : ""].join("")
  return `| \`${name}\`${marks} | ${fallback} | ${formOf(setting)} | ${setting.what} |`
}

const table = Object.entries<Readonly<Record<string, Setting>>>(groups)
  .flatMap(([title, settings]) => [
    `### ${title}`,
    "",
    "| variable | default | form | what |",
    "| --- | --- | --- | --- |",
    ...Object.entries(settings).map(([name, setting]) => rowOf(name, setting)),
    ""
  ])
  .join("\n")

const width = 110

/** In lines of a comment. Links lead nowhere from there, and their words say the same. */
const commentOf = (text: string): string => {
  const lines: Array<string> = []
  for (const word of text.replace(/ \(\[[^)]*\)\)/gu, "").split(" ")) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`# ${word}`)
  }
  return lines.join("\n")
}

const entryOf = (name: string, setting: Setting): string =>
  `${commentOf(`${setting.what} (${formOf(setting)})`)}\n#${name}=${setting.fallback ?? ""}\n`

const example = [
  "# Copy this file to .env, which `npm start` and `npm run agentd` read, and take the # away from what you set.",
  "# What the environment itself has wins, also if it is empty. Made by `npm run settings`; see docs/settings.md.",
  "",
  ...Object.entries<Readonly<Record<string, Setting>>>(groups).flatMap(([title, settings]) => [
    `### ${title}`,
    "",
    ...Object.entries(settings).map(([name, setting]) => entryOf(name, setting))
  ])
].join("\n")

/** What is made of the table of settings, by path; the rest of the page is written by hand. */
export const made = (): ReadonlyMap<string, string> => {
  const page = readFileSync(at(docs), "utf8")
  const [before, rest] = page.split(`${begin}\n`)
  const [, after] = rest?.split(end) ?? []
  if (before === undefined || after === undefined) throw new Error(`${docs} has no place for the table`)
  return new Map([
    [docs, `${before}${begin}\n\n${table}${end}${after}`],
    [".env.example", example]
  ])
}

if (import.meta.main) for (const [path, text] of made()) writeFileSync(at(path), text)
