import "./Schedules.css"
import { CronJobId } from "../../../../src/Schemas/Ids.ts"
import { route } from "../../Router.ts"
import { EditJob, NewJob } from "./EditJob.tsx"
import { JobList } from "./JobList.tsx"
import { JobPage } from "./JobPage.tsx"

/** The list of cron jobs, one of them, or the form that makes or changes one: as the address says. */
const Schedules = () => {
  const [, id, part] = route.value.path
  if (id === undefined) return <JobList />
  if (id === "new") return <NewJob />
  const job = CronJobId.make(id)
  return part === "edit" ? <EditJob key={id} id={job} /> : <JobPage key={id} id={job} />
}

export default Schedules
