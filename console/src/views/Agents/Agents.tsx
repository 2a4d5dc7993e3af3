import "./Agents.css"
import { AgentId } from "../../../../src/Schemas/Ids.ts"
import { route } from "../../Router.ts"
import { AgentList } from "./AgentList.tsx"
import { AgentPage } from "./AgentPage.tsx"
import { EditAgent, NewAgent } from "./EditAgent.tsx"

/** The list of agents, one of them, or the form that makes or changes one: as the address says. */
const Agents = () => {
  const [, id, part] = route.value.path
  if (id === undefined) return <AgentList />
  if (id === "new") return <NewAgent />
  const agent = AgentId.make(id)
  return part === "edit" ? <EditAgent key={id} id={agent} /> : <AgentPage key={id} id={agent} />
}

export default Agents
