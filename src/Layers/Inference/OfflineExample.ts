import type * as Schema from "effect/Schema"

type Node = Schema.JsonObject

/** Schemas may name themselves, and in many places: no more is looked at than this. */
const mostLevels = 12
const mostLooks = 1_000
const mostItems = 100
const longest = 10_000

interface World {
  readonly root: Node
  left: number
}

/**
 * A JSON value that fits a JSON Schema, as long as that says in plain words what it wants: types, `enum`, `const`,
 * `required`, bounds, usual formats, the first of several ways, and references within it. What it does not say is as
 * short as can be.
 */
export const exampleOf = (schema: Node): Schema.Json => valueOf(schema, { root: schema, left: mostLooks }, 0)

const valueOf = (given: Schema.Json | undefined, world: World, level: number): Schema.Json => {
  if (!isNode(given) || level > mostLevels || world.left-- <= 0) return null
  const node = merged(resolved(given, world, 0), world, level)
  if (node.const !== undefined) return node.const
  if (Array.isArray(node.enum) && node.enum.length > 0) return node.enum[0]
  if (node.default !== undefined) return node.default
  if (Array.isArray(node.examples) && node.examples.length > 0) return node.examples[0]
  const ways = arrayOf(node.anyOf ?? node.oneOf)
  if (ways.length > 0) return valueOf({ ...without(node), ...shortest(ways, world) }, world, level + 1)
  switch (typeOf(node)) {
    case "object":
      return objectOf(node, world, level)
    case "array":
      return itemsOf(node, world, level)
    case "string":
      return textOf(node)
    case "integer":
    case "number":
      return numberOf(node)
    case "boolean":
      return true
    default:
      return null
  }
}

const isNode = (value: Schema.Json | undefined): value is Node =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const arrayOf = (value: Schema.Json | undefined): ReadonlyArray<Schema.Json> =>
  Array.isArray(value) ? value : []

const without = ({ anyOf: _, oneOf: __, ...rest }: Node): Node => rest

/** Null, where that is a way, ends what names itself. */
const shortest = (ways: ReadonlyArray<Schema.Json>, world: World): Node => {
  const nodes = ways.filter(isNode).map((way) => resolved(way, world, 0))
  return nodes.find((way) => way.type === "null") ?? nodes[0] ?? {}
}

const resolved = (node: Node, world: World, hops: number): Node => {
  const { $ref, ...rest } = node
  if (typeof $ref !== "string" || hops > mostLevels) return node
  if (!$ref.startsWith("#")) return rest
  let target: Schema.Json | undefined = world.root
  for (const part of $ref
    .slice(1)
    .split("/")
    .filter((one) => one !== "")) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
    target = isNode(target) ? target[name] : undefined
  }
  return isNode(target) ? { ...resolved(target, world, hops + 1), ...rest } : rest
}

/** With all that `allOf` says. */
const merged = (node: Node, world: World, level: number): Node => {
  const { allOf, ...own } = node
  let all: Node = own
  for (const part of arrayOf(allOf)) {
    if (!isNode(part) || level > mostLevels || world.left-- <= 0) continue
    const more = merged(resolved(part, world, 0), world, level + 1)
    const properties = { ...objectIn(all.properties), ...objectIn(more.properties) }
    const required = [...arrayOf(all.required), ...arrayOf(more.required)]
    all = Object.assign({}, all, more, { properties, required })
  }
  return all
}

const objectIn = (value: Schema.Json | undefined): Node => (isNode(value) ? value : {})

const typeOf = (node: Node): Schema.Json | undefined => {
  if (Array.isArray(node.type)) return node.type.find((type) => type !== "null") ?? "null"
  if (node.type !== undefined) return node.type
  if (node.properties !== undefined || node.required !== undefined) return "object"
  if (node.items !== undefined || node.prefixItems !== undefined) return "array"
  if (node.pattern !== undefined || node.minLength !== undefined || node.format !== undefined) return "string"
  return node.minimum !== undefined || node.maximum !== undefined ? "number" : "object"
}

const objectOf = (node: Node, world: World, level: number): Schema.Json => {
  const properties = objectIn(node.properties)
  const names = new Set(arrayOf(node.required).filter((name) => typeof name === "string"))
  if (level === 0) for (const name of Object.keys(properties)) names.add(name)
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      valueOf(Object.hasOwn(properties, name) ? properties[name] : {}, world, level + 1)
    ])
  )
}

const itemsOf = (node: Node, world: World, level: number): Schema.Json => {
  const first = arrayOf(node.prefixItems)
  const least = Math.min(mostItems, Math.max(numberIn(node.minItems) ?? 0, first.length))
  return Array.from({ length: least }, (_, index) =>
    valueOf(first[index] ?? node.items ?? {}, world, level + 1)
  )
}

const numberIn = (value: Schema.Json | undefined): number | undefined =>
  typeof value === "number" ? value : undefined

const formats: Readonly<Record<string, string>> = {
  "date-time": "2000-01-01T00:00:00Z",
  date: "2000-01-01",
  time: "00:00:00Z",
  duration: "PT1S",
  email: "someone@example.org",
  hostname: "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.org/",
  url: "https://example.org/",
  uuid: "00000000-0000-4000-8000-000000000000"
}

const textOf = ({ format, maxLength, minLength }: Node): string => {
  const plain = typeof format === "string" ? (formats[format] ?? "example") : "example"
  const least = Math.min(longest, numberIn(minLength) ?? 0)
  return plain.padEnd(least, "x").slice(0, Math.max(0, numberIn(maxLength) ?? longest))
}

const numberOf = (node: Node): number => {
  const step = numberIn(node.multipleOf) ?? (typeOf(node) === "integer" ? 1 : undefined)
  const exclusive = step ?? 0.5
  const least =
    numberIn(node.minimum) ??
    (numberIn(node.exclusiveMinimum) === undefined ? undefined : Number(node.exclusiveMinimum) + exclusive)
  const most =
    numberIn(node.maximum) ??
    (numberIn(node.exclusiveMaximum) === undefined ? undefined : Number(node.exclusiveMaximum) - exclusive)
  const near = Math.max(least ?? Number.NEGATIVE_INFINITY, Math.min(most ?? Number.POSITIVE_INFINITY, 0))
  return step === undefined || step <= 0 ? near : Math.ceil(near / step) * step
}
