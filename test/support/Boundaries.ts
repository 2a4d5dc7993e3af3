import { isBuiltin } from "node:module"
import { basename } from "node:path"
import { circles, type Graph } from "./Circles.ts"
import { layerUses } from "./LayerUse.ts"
import { isInside, isRoot, roomOf, within } from "./Rooms.ts"
import { at, nameOf, type Reference, type Source, type Sources } from "./Sources.ts"

/** What a file does that it may not, with the rule in words. */
interface Violation {
  readonly file: string
  readonly imports: string
  readonly rule: string
}

/** `Layers/Repo.ts` and all of `Layers/Repo/` are the family `Layers/Repo`: an assembly file and its folder. */
const familyOf = (file: string): string => file.replace(/\.ts$/, "").split("/").slice(0, 2).join("/")

const isSql = (path: string): boolean => /sql|\bpg\b|postgres|pglite/.test(path)

const namesOfExports = ({ tree }: Source): ReadonlyArray<string> =>
  at(tree, "body")
    .filter(({ type }) => type === "ExportNamedDeclaration")
    .flatMap((node) => [
      ...at(node, "specifiers").flatMap((specifier) => at(specifier, "exported")),
      ...at(node, "declaration").flatMap((made) =>
        [made, ...at(made, "declarations")].flatMap((each) => at(each, "id"))
      )
    ])
    .flatMap((id) => nameOf(id) ?? [])

const hasDefaultLayer = ({ nodes }: Source): boolean =>
  nodes.some(
    (node) =>
      node.type === "PropertyDefinition" &&
      node.static === true &&
      /^layer/.test(nameOf(at(node, "key")[0]) ?? "")
  )

/**
 * A file of Services that adapters may import: a port or a value. It takes nothing but types from others of
 * Services, makes no part of the service, and stands in no folder (which is the inside of a use case). A port
 * may bring its layer along if that needs no other service. Everything else is a use case.
 */
export const isPort = (source: Source): boolean => {
  const others = source.references.filter(({ target }) => target.startsWith("Services/"))
  return (
    within("Services")(source.file) &&
    !isInside(source.file) &&
    others.every(({ isType }) => isType) &&
    !namesOfExports(source).some((name) => /^(layer|make|start)/.test(name)) &&
    (others.length === 0 || !hasDefaultLayer(source))
  )
}

const packageOf = (path: string): string => path.split("/", path.startsWith("@") ? 2 : 1).join("/")

const referenceRules =
  (sources: Sources, dependencies: ReadonlySet<string>) =>
  (source: Source, reference: Reference): ReadonlyArray<string> => {
    const { file } = source
    const { isExport, isRelative, target } = reference
    const room = roomOf(file)
    const to = sources.get(target)
    const rules: Array<string> = []
    if (isExport) rules.push("a file exports what it makes itself")
    if (!isRelative) {
      if (room?.packages(target) === false) rules.push(`${room.name} may not know this package`)
      if (isSql(target) && !within("Layers/Repo/Postgres")(file)) {
        rules.push("SQL stands in Layers/Repo/Postgres alone")
      }
      if (!isBuiltin(target) && !dependencies.has(packageOf(target))) {
        rules.push("a package that is imported is a dependency in package.json")
      }
      return rules
    }
    if (to === undefined) return [...rules, "an import names a file of src"]
    const isOwn = room !== undefined && room === roomOf(target)
    if (room !== undefined && !isOwn && !room.knows(target, isPort(to))) {
      rules.push(`${room.name} may not know this file`)
    }
    if (isInside(target) && !within("Services")(file)) {
      rules.push("the inside of a use case is known in Services alone")
    }
    if (within("Services")(file) && within("Services")(target) && isPort(source) && !isPort(to)) {
      rules.push("a port knows no use case")
    }
    return rules
  }

const fileRules = ({ file }: Source): ReadonlyArray<string> => [
  ...(roomOf(file) === undefined ? ["every file belongs to a room that says whom it may know"] : []),
  ...(basename(file) === "index.ts" ? ["no index: an assembly file stands beside its folder"] : [])
]

const layerRules = (source: Source): ReadonlyArray<Violation> =>
  layerUses(source).flatMap(({ call, origins, runs }) => {
    const { file } = source
    const foreign = origins.filter((origin) => runs || familyOf(origin) !== familyOf(file))
    if (foreign.length === 0 || isRoot(file) || (!runs && roomOf(file)?.assembles)) return []
    const rule = runs
      ? `${call}: layers of the application are given to programs in main and cli alone`
      : `${call}: a family combines its own layers alone`
    return foreign.map((imports) => ({ file, imports, rule }))
  })

/** Types count: who reads one file of a circle reads all of it. */
const fileGraph = (sources: Sources): Graph =>
  new Map(
    [...sources].map(([file, { references }]) => [
      file,
      new Set(references.flatMap(({ target }) => (sources.has(target) ? [target] : [])))
    ])
  )

const roomGraph = (files: Graph): Graph => {
  const graph = new Map<string, Set<string>>()
  for (const [file, targets] of files) {
    const from = roomOf(file)?.name
    if (from === undefined) continue
    const known = graph.get(from) ?? new Set()
    graph.set(from, known)
    for (const target of targets) {
      const to = roomOf(target)?.name
      if (to !== undefined && to !== from) known.add(to)
    }
  }
  return graph
}

/** What breaks a rule. `dependencies` are the names of the packages that package.json declares. */
export const violations = (sources: Sources, dependencies: ReadonlySet<string>): ReadonlyArray<Violation> => {
  const rulesOf = referenceRules(sources, dependencies)
  const files = fileGraph(sources)
  return [
    ...[...sources.values()].flatMap((source) => [
      ...fileRules(source).map((rule) => ({ file: source.file, imports: "", rule })),
      ...source.references.flatMap((reference) =>
        rulesOf(source, reference).map((rule) => ({ file: source.file, imports: reference.target, rule }))
      ),
      ...layerRules(source)
    ]),
    ...[files, roomGraph(files)].flatMap(circles).map(({ from, to, way }) => ({
      file: from,
      imports: to,
      rule: `no circles: ${way.join(" -> ")}`
    }))
  ]
}
