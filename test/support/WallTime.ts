import { at, type Node, nameOf, type Source, type Sources } from "./Sources.ts"

/** Who asks for the time of day, and what for. Nothing of it is a duration, which a correction would stretch. */
export const allowed: ReadonlyMap<string, string> = new Map([
  ["Layers/Tools/Builtin.ts", "the tool that tells models what time it is"],
  ["Services/Telemetry.ts", "spans end at a time of day, as OpenTelemetry has them"],
  ["Services/CurrentTime.ts", "the one place that others ask: `now`"],
  ["Layers/Client/Listen.ts", "the time stamp of a message must be close to it"],
  ["Layers/Inference/ModelStream.ts", "a provider may say a date until which it wants no request"],
  ["Layers/Telemetry/Post.ts", "a collector may say a date until which it wants no request"],
  ["Layers/Repo/InMemory/ApprovalRepo.ts", "the clock of this store"],
  ["Layers/Repo/InMemory/ApprovalRepo/Decisions.ts", "the clock of this store, by which approvals expire"],
  ["Layers/Repo/InMemory/CronFireRepo.ts", "the clock of this store, by which slots are forgotten"]
])

const asked: ReadonlySet<string> = new Set([
  "currentTimeMillis",
  "currentTimeMillisUnsafe",
  "currentTimeNanos",
  "currentTimeNanosUnsafe"
])

const isAsked = (node: Node): boolean => {
  const [callee] = at(node, "callee")
  if (node.type === "NewExpression") return nameOf(callee) === "Date" && at(node, "arguments").length === 0
  if (node.type !== "MemberExpression") return false
  const [object, property] = [nameOf(at(node, "object")[0]), nameOf(at(node, "property")[0])]
  if (property === "now") return object === "Date" || object === "DateTime"
  return property !== undefined && asked.has(property)
}

const asksWallTime = ({ nodes }: Source): boolean => nodes.some(isAsked)

/** The files that ask for the time of day. */
export const wallTimeOf = (sources: Sources): ReadonlyArray<string> =>
  [...sources.values()].filter(asksWallTime).map(({ file }) => file)
