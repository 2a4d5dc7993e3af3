import * as Schema from "effect/Schema"
import type { RefObject } from "preact"
import { AgentId, CronJobId, ProjectId, type WorkspaceId } from "../../../../src/Schemas/Ids.ts"
import { RunStatus } from "../../../../src/Schemas/Run.ts"
import { setQuery } from "../../Router.ts"
import { Button } from "../../ui/Button.tsx"
import { Select } from "../../ui/Field.tsx"
import { statusWord } from "../../ui/Status.tsx"
import { type Names, useChoices } from "./Names.ts"
import type { Filter } from "./useRunRows.ts"

const statuses = [
  { value: "", label: "Any state" },
  ...RunStatus.literals.map((status) => ({ value: status, label: statusWord(status) }))
]

const of =
  <A extends string>(schema: Schema.Codec<A, string>) =>
  (text: string | null): A | undefined =>
    Schema.is(schema)(text) ? text : undefined
const statusOf = of(RunStatus)
const agentOf = of(AgentId)
const cronJobOf = of(CronJobId)
const projectOf = of(ProjectId)

/** What the address narrows the list to; what can't be a state or an id there is none. */
export const filterOf = (workspaceId: WorkspaceId, query: URLSearchParams): Filter => {
  const status = statusOf(query.get("status"))
  const agentId = agentOf(query.get("agentId"))
  const cronJobId = cronJobOf(query.get("cronJobId"))
  const projectId = projectOf(query.get("projectId"))
  return {
    workspaceId,
    ...(status !== undefined && { status }),
    ...(agentId !== undefined && { agentId }),
    ...(cronJobId !== undefined && { cronJobId }),
    ...(projectId !== undefined && { projectId })
  }
}

export const isNarrowed = ({ agentId, cronJobId, projectId, status }: Filter): boolean =>
  (agentId ?? cronJobId ?? projectId ?? status) !== undefined

export const clearFilters = () =>
  setQuery({ status: undefined, agentId: undefined, cronJobId: undefined, projectId: undefined })

interface Props {
  readonly filter: Filter
  readonly names: Names
  readonly box: RefObject<HTMLElement | null>
}

/** Selects whose values are part of the address. */
export const Filters = ({ filter, names, box }: Props) => {
  const { agentId = "", cronJobId = "", projectId = "", status = "" } = filter
  const agents = useChoices(names.agents, "Any agent", agentId)
  const cronJobs = useChoices(names.cronJobs, "Any or no schedule", cronJobId)
  const projects = useChoices(names.projects, "Any or no project", projectId)
  return (
    <search class="runs-filters" aria-label="Filters of the list" ref={box}>
      <Select
        label="State"
        value={status}
        choices={statuses}
        onChoice={(value) => setQuery({ status: value })}
      />
      <Select
        label="Agent"
        value={agentId}
        choices={agents}
        onChoice={(value) => setQuery({ agentId: value })}
      />
      <Select
        label="Schedule"
        value={cronJobId}
        choices={cronJobs}
        onChoice={(value) => setQuery({ cronJobId: value })}
      />
      {(names.projects.length > 0 || projectId !== "") && (
        <Select
          label="Project"
          value={projectId}
          choices={projects}
          onChoice={(value) => setQuery({ projectId: value })}
        />
      )}
      {isNarrowed(filter) && (
        <Button kind="quiet" class="runs-clear" onClick={clearFilters}>
          Clear filters
        </Button>
      )}
    </search>
  )
}
