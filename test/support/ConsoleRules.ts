import { circles, type Graph } from "./Circles.ts"
import { nameOf, type Reference, type Source, type Sources } from "./Sources.ts"

/** What a file of the console does that it may not. Files are named by their paths below the root. */
interface Violation {
  readonly file: string
  readonly imports: string
  readonly rule: string
}

const home = "console/src/"

const viewOf = (file: string): string | undefined => /^console\/src\/views\/([^/]+)\//u.exec(file)?.[1]

const isUi = (file: string): boolean => file.startsWith(`${home}ui/`)

/** The table that the shell finds its views in: the one file that knows them, and loads each when it is looked at. */
const table = `${home}Views.ts`

/** What views and their parts stand in, and so don't know. */
const shell = ["App.tsx", "Navigation.tsx", "SignIn.tsx", "Views.ts", "main.tsx"].map((name) => home + name)

const isOfContract = (path: string): boolean => /^src\/(Api|Schemas)\//u.test(path)

/** Effect as far as a browser has it, and what the console is made of. */
const isAllowedPackage = (file: string, path: string): boolean => {
  if (path === "uplot" || path === "uplot/dist/uPlot.min.css") return viewOf(file) === "Usage"
  return (
    /^effect\/([A-Z]\w*|(encoding|http|http-api)\/\w+)$/u.test(path) ||
    ["preact", "preact/hooks", "@preact/signals", "@tanstack/virtual-core"].includes(path)
  )
}

const placeRules = (file: string, target: string, isDynamic: boolean): ReadonlyArray<string> => {
  const own = viewOf(file)
  const other = viewOf(target)
  const rules: Array<string> = []
  if (own !== undefined && other !== undefined && other !== own) rules.push("a view knows no other view")
  if (own === undefined && other !== undefined) {
    if (file !== table) rules.push("the table of views alone knows a view")
    else if (!isDynamic) rules.push("a view is loaded when it is looked at")
  }
  if ((own !== undefined || isUi(file)) && shell.includes(target))
    rules.push("the shell knows its parts, not they it")
  return rules
}

const referenceRules = (
  known: ReadonlySet<string>,
  { file }: Source,
  { isDynamic, isExport, isRelative, path, target }: Reference
): ReadonlyArray<string> => {
  const rules = isExport ? ["a file exports what it makes itself"] : []
  if (!isRelative) {
    return isAllowedPackage(file, path) ? rules : [...rules, "the console may not know this package"]
  }
  if (isOfContract(target)) return rules
  if (!target.startsWith(home))
    return [...rules, "the console knows the contract alone: src/Api and src/Schemas"]
  if (!known.has(target)) return [...rules, "an import names a file of the console"]
  return [...rules, ...placeRules(file, target, isDynamic)]
}

/** What makes markup, or a program, of a text: what models and tools say is text. */
const unsafeNames = new Set([
  "dangerouslySetInnerHTML",
  "innerHTML",
  "outerHTML",
  "srcdoc",
  "insertAdjacentHTML",
  "eval",
  "Function",
  "DOMParser"
])

const unsafe = ({ file, nodes }: Source): ReadonlyArray<Violation> =>
  nodes
    .filter(({ type }) => type === "Identifier" || type === "JSXIdentifier" || type === "Literal")
    .flatMap((node) => (node.type === "JSXIdentifier" ? String(node.name) : (nameOf(node) ?? [])))
    .filter((name) => unsafeNames.has(name))
    .map((imports) => ({ file, imports, rule: "a text becomes neither markup nor a program" }))

const graphOf = (sources: Sources): Graph =>
  new Map(
    [...sources].map(([file, { references }]) => [
      file,
      new Set(references.flatMap(({ target }) => (sources.has(target) ? [target] : [])))
    ])
  )

/** What breaks a rule of the console. `files` are all of its files, also those that are no programs. */
export const violations = (sources: Sources, files: ReadonlySet<string>): ReadonlyArray<Violation> => [
  ...[...sources.values()].flatMap((source) => [
    ...(/\/index\.tsx?$/u.test(source.file)
      ? [{ file: source.file, imports: "", rule: "no index: a file is imported by its name" }]
      : []),
    ...unsafe(source),
    ...source.references.flatMap((reference) =>
      referenceRules(files, source, reference).map((rule) => ({
        file: source.file,
        imports: reference.target,
        rule
      }))
    )
  ]),
  ...circles(graphOf(sources)).map(({ from, to, way }) => ({
    file: from,
    imports: to,
    rule: `no circles: ${way.join(" -> ")}`
  }))
]
