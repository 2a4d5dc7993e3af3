import "./Runs.css"
import "./Run.css"
import { RunId } from "../../../../src/Schemas/Ids.ts"
import { route } from "../../Router.ts"
import { RunList } from "./RunList.tsx"
import { RunPage } from "./RunPage.tsx"

/** The list of runs, or the one run that the address names. */
const Runs = () => {
  const id = route.value.path[1]
  return id === undefined ? <RunList /> : <RunPage key={id} id={RunId.make(id)} />
}

export default Runs
