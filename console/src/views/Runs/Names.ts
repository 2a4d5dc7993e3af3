import { useMemo } from "preact/hooks"
import type { Agent } from "../../../../src/Schemas/Agent.ts"
import type { CronJob } from "../../../../src/Schemas/CronJob.ts"
import type { Project } from "../../../../src/Schemas/Project.ts"
import { call } from "../../Client.ts"
import { useLoad } from "../../Load.ts"
import { workspaceId } from "../../Session.ts"
import type { Choice } from "../../ui/Field.tsx"

const most = 1_000

/** What runs are narrowed to, each by its name: of each kind the first thousand. */
export interface Names {
  readonly agents: ReadonlyArray<Agent>
  readonly cronJobs: ReadonlyArray<CronJob>
  readonly projects: ReadonlyArray<Project>
}

const none: Names = { agents: [], cronJobs: [], projects: [] }

/** Loads them once it is wanted; nothing of them is there until then. */
export const useNames = (isWanted: boolean): Names => {
  const workspace = workspaceId()
  const { data } = useLoad(`${workspace} ${isWanted}`, async (signal) => {
    if (!isWanted) return none
    const query = { workspaceId: workspace, limit: most }
    const [agents, cronJobs, projects] = await Promise.all([
      call((client) => client.agents.list({ query }), signal),
      call((client) => client.cronJobs.list({ query }), signal),
      call((client) => client.projects.list({ query: { workspaceId: workspace } }), signal)
    ])
    return { agents: agents.data, cronJobs: cronJobs.data, projects: projects.data }
  })
  return data ?? none
}

interface Named {
  readonly id: string
  readonly name: string
}

/** Choices of a select: all of them, and what the address names although it is none of them. */
export const useChoices = (named: ReadonlyArray<Named>, any: string, chosen: string): ReadonlyArray<Choice> =>
  useMemo(() => {
    const choices = named.map(({ id, name }) => ({ value: id, label: name }))
    const isKnown = chosen === "" || choices.some(({ value }) => value === chosen)
    return [{ value: "", label: any }, ...choices, ...(isKnown ? [] : [{ value: chosen, label: chosen }])]
  }, [named, any, chosen])
