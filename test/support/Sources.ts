import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { parseSync } from "rolldown/utils"

/** A node of a syntax tree, as far as it is looked at here. */
export interface Node {
  readonly type: string
  readonly [key: string]: unknown
}

/** One import, re-export, dynamic import or type of another module, as it is written. */
export interface Reference {
  readonly path: string
  /** The file below src, or the package with the path in it. */
  readonly target: string
  readonly isRelative: boolean
  readonly isType: boolean
  /** Loaded when that line is come to. */
  readonly isDynamic: boolean
  readonly isExport: boolean
}

/** A file, named by its path below src. */
export interface Source {
  readonly file: string
  readonly text: string
  readonly tree: Node
  /** All of the tree, in the order of the text. */
  readonly nodes: ReadonlyArray<Node>
  readonly references: ReadonlyArray<Reference>
}

export type Sources = ReadonlyMap<string, Source>

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

/** The nodes in one place of a node: none, one or several. */
export const at = (node: Node, key: string): ReadonlyArray<Node> => [node[key]].flat().filter(isNode)

/** A node and all that is in it, in the order of the text. */
export const nodesOf = (node: Node): ReadonlyArray<Node> => {
  const nodes: Array<Node> = []
  const add = (each: Node) => {
    nodes.push(each)
    for (const inner of Object.values(each).flat()) if (isNode(inner)) add(inner)
  }
  add(node)
  return nodes
}

/** What a name, or the text of a string, is. */
export const nameOf = (node: Node | undefined): string | undefined => {
  const name = node?.type === "Identifier" ? node.name : node?.type === "Literal" ? node.value : undefined
  return typeof name === "string" ? name : undefined
}

const isTypeOnly = (node: Node): boolean => {
  const specifiers = at(node, "specifiers")
  const kind = node.type === "ImportDeclaration" ? "importKind" : "exportKind"
  return node[kind] === "type" || (specifiers.length > 0 && specifiers.every((each) => each[kind] === "type"))
}

/** The file below src that a path in a file names, or the package with the path in it. */
export const targetOf = (file: string, path: string): string =>
  path.startsWith(".") ? normalize(join(dirname(file), path)) : path

/** A path that is known only when the program runs is given as `?`, which nothing allows. */
const pathOf = (node: Node | undefined): string => {
  const [text] =
    node?.type === "TemplateLiteral" && at(node, "expressions").length === 0 ? at(node, "quasis") : []
  const { cooked } = (text?.value ?? {}) as { readonly cooked?: string }
  return (node?.type === "Literal" ? nameOf(node) : cooked) ?? "?"
}

const referenceKinds: Readonly<Record<string, { readonly key: string; readonly isType?: true }>> = {
  ImportDeclaration: { key: "source" },
  ExportNamedDeclaration: { key: "source" },
  ExportAllDeclaration: { key: "source" },
  ImportExpression: { key: "source" },
  TSImportType: { key: "source", isType: true },
  TSExternalModuleReference: { key: "expression" }
}

const referencesOf = (file: string, nodes: ReadonlyArray<Node>): ReadonlyArray<Reference> =>
  nodes.flatMap((node) => {
    const kind = referenceKinds[node.type]
    const [named] = kind === undefined ? [] : at(node, kind.key)
    if (kind === undefined || named === undefined) return []
    const path = pathOf(named)
    return {
      path,
      target: targetOf(file, path),
      isRelative: path.startsWith("."),
      isType: kind.isType ?? isTypeOnly(node),
      isDynamic: node.type === "ImportExpression",
      isExport: node.type.startsWith("Export")
    }
  })

export const parse = (file: string, text: string): Source => {
  const { errors, program } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  const tree = program as unknown as Node
  const nodes = nodesOf(tree)
  return { file, text, tree, nodes, references: referencesOf(file, nodes) }
}

/** Every file below a folder. */
export const read = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .sort()
      .map((file) => [file, readFileSync(join(folder, file), "utf8")])
  )

export const parseAll = (texts: ReadonlyMap<string, string>): Sources =>
  new Map([...texts].map(([file, text]) => [file, parse(file, text)]))
