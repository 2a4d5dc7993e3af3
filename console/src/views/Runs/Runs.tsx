import "./Runs.css"
import "./Run.css"
import "./Steps.css"
import * as Schema from "effect/Schema"
import { RunId } from "../../../../src/Schemas/Ids.ts"
import { route } from "../../Router.ts"
import { RunList } from "./RunList.tsx"
import { NoRun, RunPage } from "./RunPage.tsx"

const isRunId = Schema.is(RunId)

/** The list of runs, or the one run that the address names. */
const Runs = () => {
  const id = route.value.path[1]
  if (id === undefined) return <RunList />
  return isRunId(id) ? <RunPage key={id} id={id} /> : <NoRun id={id} />
}

export default Runs
