import { hash } from "../../../../Schemas/ToolName.ts"

const longest = 64
const suffixLength = 9

/** An agent by what its tool is made of. */
export interface Named {
  readonly id: string
  readonly name: string
}

/**
 * What a name is in the letters that every client takes (`^[a-zA-Z0-9_-]{1,64}$`). Letters of other alphabets are none of
 * them: a name that has none that can be said is called after its id.
 */
export const plainName = ({ id, name }: Named): string => {
  const plain = name
    .normalize("NFKD")
    .replace(/[̀-ͯ]/gu, "")
    .replace(/[^a-zA-Z0-9_-]+/gu, "_")
    .replace(/^_+|_+$/gu, "")
  return plain === "" ? `agent_${hash(id)}` : plain.slice(0, longest)
}

/** The name that an agent has whatever others there are. */
export const ownName = (agent: Named): string =>
  `${plainName(agent).slice(0, longest - suffixLength)}_${hash(agent.id)}`

/**
 * How agents are called as tools: by their name alone where no other agent, and no tool of another kind, is called so in
 * any case; else with what tells it apart by its id alone. So it depends on no order, and no agent is ever called by a name
 * that means two.
 */
export const toolNamesOf = (
  agents: ReadonlyArray<Named>,
  taken: Iterable<string>
): ReadonlyMap<string, string> => {
  const counts = new Map<string, number>()
  const count = (name: string) => counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1)
  for (const name of taken) count(name)
  for (const agent of agents) count(plainName(agent))
  return new Map(
    agents.map((agent) => {
      const plain = plainName(agent)
      return [agent.id, counts.get(plain.toLowerCase()) === 1 ? plain : ownName(agent)]
    })
  )
}

/** The agent of a tool that was listed: also by its id, and by the name that it has where others are called alike. */
export const agentOfTool = <A extends Named>(
  agents: ReadonlyArray<A>,
  taken: Iterable<string>,
  tool: string
): A | undefined => {
  const names = toolNamesOf(agents, taken)
  return (
    agents.find(({ id }) => names.get(id) === tool) ??
    agents.find((agent) => agent.id === tool || ownName(agent) === tool)
  )
}
