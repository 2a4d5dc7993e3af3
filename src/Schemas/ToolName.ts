/** A tool of a connector, as its server names it. */
export interface ConnectorTool {
  readonly connectorId: string
  /** The provider of the connector, or its name, or its type. */
  readonly prefix: string
  readonly tool: string
}

/** The tools that every agent has; no tool of a connector takes their names. */
export const builtinNames: ReadonlyArray<string> = ["remember", "recall", "current_time"]

const maximum = 64
const longestPrefix = 24
const separator = "__"

/** What the tools of a connector are called after (CONTRACT.md section 7). */
export const prefixOf = (connector: {
  readonly providerId: string | null
  readonly providerName: string | null
  readonly type: string | null
}): string => connector.providerId ?? connector.providerName ?? connector.type ?? "connector"

/** Whether tools of two prefixes can be called alike. What is longer than a name may be is cut, with a hash of the whole. */
export const mayMeet = (one: string, other: string): boolean => {
  const [a, b] = [plain(one) + separator, plain(other) + separator]
  return a.startsWith(b) || b.startsWith(a)
}

/**
 * The names under which models see these tools, in the same order: `<prefix>__<tool>` in the letters that
 * every provider takes, each one once and none of a built-in tool. Where two would be the same, the first
 * in the list keeps the plain name and the others get a suffix that depends on connector and tool alone.
 */
export const toolNames = (tools: ReadonlyArray<ConnectorTool>): ReadonlyArray<string> => {
  const taken = new Set(builtinNames)
  return tools.map((tool) => {
    let name = alone(tool)
    for (let attempt = 0; taken.has(name); attempt++) name = apart(tool, attempt)
    taken.add(name)
    return name
  })
}

/**
 * Every name that a tool may be shown under, whatever other tools there are, and those that it is made of: as its
 * connector and server call it, in the letters of names, cut, and told apart from another.
 */
export const possibleNames = (tool: ConnectorTool): ReadonlyArray<string> => {
  const raw = tool.prefix + separator + tool.tool
  return [raw, plain(tool.prefix) + separator + plain(tool.tool), alone(tool), apart(tool, 0)]
}

/** Where no other is called so. */
const alone = (tool: ConnectorTool): string => {
  const full = plain(tool.prefix) + separator + plain(tool.tool)
  return full.length <= maximum ? full : suffixed(tool, `${tool.prefix}${separator}${tool.tool}`)
}

const apart = (tool: ConnectorTool, attempt: number): string =>
  suffixed(tool, [tool.connectorId, tool.tool, attempt].join("\n"))

/** As much of both parts as there is room for, and a hash of `text`. */
const suffixed = ({ prefix, tool }: ConnectorTool, text: string): string => {
  const suffix = `_${hash(text)}`
  const room = maximum - suffix.length - separator.length
  const head = plain(prefix).slice(0, Math.max(longestPrefix, room - plain(tool).length))
  return head + separator + plain(tool).slice(0, room - head.length) + suffix
}

const longestName = 200
const longestList = 4_096

/**
 * What a model is told that called a tool by a name that none has: those that there are, the ones that are called
 * alike first, cut to 4,096 characters.
 */
export const noToolNamed = (name: string, known: ReadonlyArray<string>): string => {
  const last = (name.split(/[^a-zA-Z0-9]+/u).findLast((word) => word !== "") ?? name).toLowerCase()
  const isAlike = (other: string) => other.toLowerCase().includes(last)
  const ordered = [...new Set(known)].sort(
    (a, b) => Number(isAlike(b)) - Number(isAlike(a)) || (a < b ? -1 : 1)
  )
  const shown: Array<string> = []
  let room = longestList
  for (const one of ordered) {
    room -= one.length + 2
    if (room < 0) break
    shown.push(one)
  }
  const rest = ordered.length - shown.length
  const there = shown.length === 0 ? "There are none." : `There are: ${shown.join(", ")}`
  const asked = name.length <= longestName ? name : `${name.slice(0, longestName).toWellFormed()}…`
  return `There is no tool named ${asked}. ${there}${shown.length === 0 ? "" : rest === 0 ? "." : ` and ${rest} more.`}`
}

const plain = (text: string): string => text.replace(/[^a-zA-Z0-9_-]/gu, "_")

/** FNV-1a of the UTF-16 code units, 8 hexadecimal digits: the same in every process and version. */
export const hash = (text: string): string => {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0
  }
  return value.toString(16).padStart(8, "0")
}
