import { useMemo } from "preact/hooks"
import type { UsageGroup, UsageRow } from "../../../../src/Schemas/UsageReport.ts"
import { call, type Problem } from "../../Client.ts"
import { cost, count } from "../../Format.ts"
import { useLoad } from "../../Load.ts"
import { href, route, setQuery } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Select, TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Facts, Loading, Page, Section } from "../../ui/Page.tsx"
import { Tabs } from "../../ui/Tabs.tsx"
import { Breakdown } from "./Breakdown.tsx"
import { Days } from "./Days.tsx"
import { daysOf, lastOf, type Period, periodBetween, periodOf, periods } from "./Period.ts"
import { byDay, csvOf, sumOf, tokensOf } from "./Rows.ts"
import { Standing } from "./Standing.tsx"
import "./Usage.css"

const mostNames = 1_000

const groups = [
  { by: "agent", label: "By agent" },
  { by: "model", label: "By model" },
  { by: "cronJob", label: "By schedule" },
  { by: "kind", label: "By kind" }
] as const satisfies ReadonlyArray<{ readonly by: UsageGroup; readonly label: string }>

const kinds = new Map([
  ["task", "Tasks"],
  ["turn", "Chat answers"]
])

const unnamed: Readonly<Record<string, string>> = {
  agent: "No agent",
  model: "Not known",
  cronJob: "Not by a schedule",
  kind: "Other"
}

const download = (name: string, text: string) => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }))
  const link = document.createElement("a")
  link.href = address
  link.download = name
  link.click()
  // A browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Names of agents and schedules by their ids, of those that are still there. */
const useNames = (workspace: ReturnType<typeof workspaceId>): ReadonlyMap<string, string> => {
  const { data } = useLoad(`names ${workspace}`, async (signal) => {
    const query = { workspaceId: workspace, limit: mostNames }
    const [agents, jobs] = await Promise.all([
      call((client) => client.agents.list({ query }), signal),
      call((client) => client.cronJobs.list({ query }), signal)
    ])
    return [...agents.data, ...jobs.data]
  })
  return useMemo(() => new Map((data ?? []).map(({ id, name }) => [id, name])), [data])
}

const Totals = ({ rows }: { readonly rows: ReadonlyArray<UsageRow> }) => {
  const sums = sumOf(rows)
  return (
    <div class="panel">
      <Facts
        facts={[
          ["Runs", count(sums.runs)],
          ["Chat answers", count(sums.turns)],
          ["Model calls", count(sums.modelCalls)],
          ["Tool calls", count(sums.toolCalls)],
          ["Tokens", count(tokensOf(sums))],
          ["Cost", sums.costUsd === null ? "Not known: a model had no price" : cost(sums.costUsd)]
        ]}
      />
    </div>
  )
}

/** The days that somebody chooses, both included. */
const Between = ({ period, problem }: { readonly period: Period; readonly problem: Problem | undefined }) => (
  <>
    <TextField
      label="From"
      name="from"
      type="date"
      problem={problem}
      value={period.from}
      onText={(from) => from !== "" && setQuery({ from })}
    />
    <TextField
      label="To"
      name="to"
      type="date"
      problem={problem}
      value={lastOf(period)}
      onText={(until) => until !== "" && setQuery({ until })}
    />
  </>
)

/** What the workspace has used, by day and by who used it, and how near its limits are. */
const Usage = () => {
  const workspace = workspaceId()
  const { query } = route.value
  const chosen = periods.find(({ name }) => name === query.get("period"))?.name ?? "month"
  const group = groups.find(({ by }) => by === query.get("by")) ?? groups[0]
  const [from, until] = [query.get("from"), query.get("until")]
  const period = useMemo(
    () => (chosen === "days" ? periodBetween(from, until) : undefined) ?? periodOf(chosen, new Date()),
    [chosen, from, until]
  )
  const report = (groupBy: UsageGroup) => (signal: AbortSignal) =>
    call((client) => client.usage.report({ query: { workspaceId: workspace, ...period, groupBy } }), signal)
  const key = `${workspace} ${period.from} ${period.to}`
  const days = useLoad(key, report("day"))
  const grouped = useLoad(`${key} ${group.by}`, report(group.by))
  const standing = useLoad(workspace, (signal) =>
    call((client) => client.workspaces.usage({ params: { id: workspace } }), signal)
  )
  const names = useNames(workspace)
  const dayRows = useMemo(() => byDay(days.data?.data ?? [], daysOf(period)), [days.data, period])
  const nameOf = (id: string | null) => {
    if (id === null) return unnamed[group.by] ?? "None"
    return id === "other" ? "All others" : (kinds.get(id) ?? names.get(id) ?? id)
  }
  const addressOf = (id: string | null) => {
    if (id === null || !names.has(id)) return undefined
    return href([group.by === "agent" ? "agents" : "schedules", id])
  }
  return (
    <Page
      title="Usage"
      note={`${period.from} to ${lastOf(period)}, days of UTC`}
      actions={
        <>
          <Select
            label="Time"
            value={chosen}
            choices={periods.map(({ label, name }) => ({ value: name, label }))}
            onChoice={(name) =>
              setQuery({
                period: name === "month" ? undefined : name,
                from: name === "days" ? period.from : undefined,
                until: name === "days" ? lastOf(period) : undefined
              })
            }
          />
          {chosen === "days" && <Between period={period} problem={days.problem} />}
          <Button
            disabled={days.data === undefined}
            onClick={() => download(`usage-${period.from}-${period.to}.csv`, csvOf(names, dayRows))}
          >
            Download as CSV
          </Button>
        </>
      }
    >
      <ProblemNotice problem={days.problem} onRetry={days.reload} />
      {days.isLoading && <Loading rows={6} />}
      {days.data !== undefined && (
        <>
          <Totals rows={dayRows} />
          <Days rows={dayRows} />
        </>
      )}
      <Section title="Breakdown">
        <Tabs
          label="Breakdown"
          tabs={groups.map(({ by, label }) => ({
            label,
            href: href(["usage"], { ...Object.fromEntries(query), by }),
            isCurrent: by === group.by
          }))}
        />
        <ProblemNotice problem={grouped.problem} onRetry={grouped.reload} />
        {grouped.isLoading && <Loading rows={3} />}
        {grouped.data !== undefined && (
          <Breakdown label={group.label} rows={grouped.data.data} nameOf={nameOf} addressOf={addressOf} />
        )}
      </Section>
      <ProblemNotice problem={standing.problem} onRetry={standing.reload} />
      {standing.data !== undefined && <Standing usage={standing.data.data} />}
    </Page>
  )
}

export default Usage
