import { at, type Node, nameOf, nodesOf, type Source } from "./Sources.ts"

/** What a name stands for in a file: something imported, or what it was given here. */
type Meaning =
  | {
      readonly kind: "imported"
      readonly target: string
      readonly isRelative: boolean
      readonly name: string
    }
  | { readonly kind: "given"; readonly node: Node }

type Meanings = ReadonlyMap<string, ReadonlyArray<Meaning>>

const everything = "*"

const meaningsOf = ({ nodes, references }: Source): Meanings => {
  const meanings = new Map<string, Array<Meaning>>()
  const add = (name: string | undefined, meaning: Meaning) => {
    if (name !== undefined) meanings.set(name, [...(meanings.get(name) ?? []), meaning])
  }
  for (const node of nodes) {
    const given = node.type === "VariableDeclarator" ? at(node, "init")[0] : node
    if (
      /^(VariableDeclarator|FunctionDeclaration|ClassDeclaration)$/.test(node.type) &&
      given !== undefined
    ) {
      add(nameOf(at(node, "id")[0]), { kind: "given", node: given })
    }
    if (node.type !== "ImportDeclaration") continue
    const path = nameOf(at(node, "source")[0])
    const reference = references.find((each) => each.path === path)
    if (reference === undefined) continue
    for (const specifier of at(node, "specifiers")) {
      const name = nameOf(at(specifier, "imported")[0]) ?? everything
      // `import { Effect } from "effect"` is the module effect/Effect.
      const [target, part] =
        reference.path === "effect" ? [`effect/${name}`, everything] : [reference.target, name]
      const { isRelative } = reference
      add(nameOf(at(specifier, "local")[0]), { kind: "imported", target, isRelative, name: part })
    }
  }
  return meanings
}

/**
 * A function of a package, as `effect/Layer.provide`, however it is named here; none for a name that is given its own
 * value in another block.
 */
const functionOf = (
  node: Node | undefined,
  meanings: Meanings,
  seen: ReadonlySet<string> = new Set()
): string | undefined => {
  if (node?.type === "MemberExpression") {
    const meaning = meanings.get(nameOf(at(node, "object")[0]) ?? "")?.[0]
    const isModule = meaning?.kind === "imported" && !meaning.isRelative && meaning.name === everything
    return isModule ? `${meaning.target}.${nameOf(at(node, "property")[0])}` : undefined
  }
  const name = nameOf(node) ?? ""
  const meaning = meanings.get(name)?.[0]
  if (meaning?.kind === "given") {
    return seen.has(name) ? undefined : functionOf(meaning.node, meanings, new Set([...seen, name]))
  }
  return meaning === undefined || meaning.isRelative ? undefined : `${meaning.target}.${meaning.name}`
}

const resultsOf = (made: Node): ReadonlyArray<Node> => {
  const [body] = at(made, "body")
  if (body?.type !== "BlockStatement") return at(made, "body")
  return nodesOf(body)
    .filter(({ type }) => type === "ReturnStatement")
    .flatMap((node) => at(node, "argument"))
}

/** The files below src that a layer comes from; none where it is made of packages alone. */
const originsOf = (source: Source, meanings: Meanings) => {
  const origins = (node: Node, seen: ReadonlySet<Node>): ReadonlyArray<string> => {
    if (seen.has(node)) return []
    const all = (nodes: ReadonlyArray<Node>) =>
      nodes.flatMap((each) => origins(each, new Set([...seen, node])))
    switch (node.type) {
      case "Identifier":
        return (meanings.get(nameOf(node) ?? "") ?? []).flatMap((meaning) => {
          if (meaning.kind === "given") return all([meaning.node])
          return meaning.isRelative ? [meaning.target] : []
        })
      case "ClassDeclaration":
        return [source.file]
      case "CallExpression": {
        const [callee] = at(node, "callee")
        const name = functionOf(callee, meanings) ?? ""
        if (/^effect\/(Layer|Function)\./.test(name)) return all(at(node, "arguments"))
        if (callee === undefined) return []
        return all(
          nameOf(at(callee, "property")[0]) === "pipe" ? [callee, ...at(node, "arguments")] : [callee]
        )
      }
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration":
        return all(resultsOf(node))
      case "MemberExpression":
        return all(at(node, "object"))
      case "ArrayExpression":
        return all(at(node, "elements"))
      case "ConditionalExpression":
        return all([...at(node, "consequent"), ...at(node, "alternate")])
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "ParenthesizedExpression":
        return all(at(node, "expression"))
      default:
        return []
    }
  }
  return (node: Node): ReadonlyArray<string> => [...new Set(origins(node, new Set()))]
}

/** A place where a layer is given to a program (`runs`) or to another layer, and the files it comes from. */
export interface LayerUse {
  readonly runs: boolean
  readonly call: string
  readonly origins: ReadonlyArray<string>
}

const isRun = (name: string): boolean =>
  /^effect\/(Layer\.(build|launch)\w*|ManagedRuntime\.make)$/.test(name)

/** Every use of layers in a file: `provide` of any module, and what builds or launches layers. */
export const layerUses = (source: Source): ReadonlyArray<LayerUse> => {
  const meanings = meaningsOf(source)
  const origins = originsOf(source, meanings)
  return source.nodes.flatMap((node): ReadonlyArray<LayerUse> => {
    if (node.type !== "CallExpression") return []
    const [callee] = at(node, "callee")
    const given = at(node, "arguments")
    const piped = given.flatMap((each) => functionOf(each, meanings) ?? []).find(isRun)
    if (piped !== undefined && callee !== undefined) {
      return [{ runs: true, call: piped, origins: origins(callee) }]
    }
    const call = functionOf(callee, meanings) ?? ""
    if (isRun(call)) return given.slice(0, 1).map((layer) => ({ runs: true, call, origins: origins(layer) }))
    const runs = /^effect\/(?!Layer\b).*\.provide$/.test(call)
    if (!runs && !/^effect\/Layer\.provide/.test(call)) return []
    const [first, second] = given
    const layer = second === undefined || second.type === "ObjectExpression" ? first : second
    return layer === undefined ? [] : [{ runs, call, origins: origins(layer) }]
  })
}
