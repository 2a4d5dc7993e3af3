export type Graph = ReadonlyMap<string, ReadonlySet<string>>

const wayBetween = (graph: Graph, from: string, to: string): ReadonlyArray<string> | undefined => {
  const ways = new Map<string, ReadonlyArray<string>>([[from, [from]]])
  for (const [node, way] of ways) {
    if (node === to) return way
    for (const next of graph.get(node) ?? []) if (!ways.has(next)) ways.set(next, [...way, next])
  }
  return undefined
}

/** An edge of a circle, and the circle from its start back to there. */
interface Circle {
  readonly from: string
  readonly to: string
  readonly way: ReadonlyArray<string>
}

/** The part of a graph that its circles are in: what leads nowhere is taken away, until nothing does. */
const core = (graph: Graph): Graph => {
  const left = new Map<string, ReadonlySet<string>>()
  for (const [node, targets] of graph) {
    const kept = [...targets].filter((target) => graph.has(target))
    if (kept.length > 0) left.set(node, new Set(kept))
  }
  return left.size === graph.size ? left : core(left)
}

/** Every edge that lies on a circle, with the shortest way round. */
export const circles = (graph: Graph): ReadonlyArray<Circle> => {
  const suspected = core(graph)
  return [...suspected].flatMap(([from, targets]) =>
    [...targets].flatMap((to) => {
      const back = wayBetween(suspected, to, from)
      return back === undefined ? [] : [{ from, to, way: [from, ...back] }]
    })
  )
}
