import type { BudgetUsage } from "../../../../src/Schemas/Budget.ts"
import { names, type Quota } from "../../../../src/Schemas/Quotas.ts"
import type { WorkspaceUsage } from "../../../../src/Schemas/QuotaUsage.ts"
import { bytes, cost, count } from "../../Format.ts"
import { href } from "../../Router.ts"
import { Section } from "../../ui/Page.tsx"
import { forecastOf } from "./Period.ts"

const quotaNames: Record<Quota, string> = {
  agents: "Agents",
  projects: "Projects",
  cronJobs: "Schedules",
  providerKeys: "Provider keys",
  connectors: "Connectors",
  webhooks: "Webhooks",
  memoryEntries: "Memory entries",
  memoryBytes: "Memory",
  pendingRuns: "Waiting runs",
  workspacesOwned: "Your workspaces",
  tokens: "Your tokens"
}

/** From where on it is said that a limit is near. */
const near = 0.8

interface BarProps {
  readonly label: string
  readonly used: number
  readonly limit: number | null
  readonly format: (value: number) => string
  readonly note?: string | undefined
}

const Bar = ({ format, label, limit, note, used }: BarProps) => {
  const share = limit === null ? 0 : limit === 0 ? 1 : Math.min(1, used / limit)
  const state = limit !== null && used >= limit ? "full" : share >= near ? "near" : "fine"
  return (
    <div class={`usage-limit usage-${state}`}>
      <div class="usage-limit-head">
        <span>{label}</span>
        <span class="number">
          {format(used)} {limit === null ? <span class="muted">no limit</span> : `of ${format(limit)}`}
          {state === "full" && <strong> reached</strong>}
          {state === "near" && <strong> near</strong>}
        </span>
      </div>
      {limit !== null && (
        <div class="usage-track" aria-hidden="true">
          <div style={{ width: `${share * 100}%` }} />
        </div>
      )}
      {note !== undefined && <p class="muted">{note}</p>}
    </div>
  )
}

type Stand = BudgetUsage["monthlyUsd"]

const noteOf = ({ limit, lost, used }: Stand, format: (value: number) => string): string => {
  const forecast = limit === null ? undefined : forecastOf(used + lost, new Date())
  return [
    lost > 0 ? `${format(lost)} of it is what calls that broke off may have used.` : "",
    forecast === undefined ? "" : `As it goes, the month comes to ${format(forecast)}.`
  ].join(" ")
}

/** How near the limits are: of the month, and of what the workspace may have. */
export const Standing = ({ usage }: { readonly usage: WorkspaceUsage }) => {
  const { budget, quotas } = usage
  return (
    <div class="usage-plots">
      <Section
        title={`Budget of ${budget.month}`}
        actions={<a href={href(["settings", "budget"])}>Change it</a>}
      >
        <div class="panel stack">
          <Bar
            label="US dollars"
            used={budget.monthlyUsd.used + budget.monthlyUsd.lost}
            limit={budget.monthlyUsd.limit}
            format={(value) => cost(value)}
            note={noteOf(budget.monthlyUsd, (value) => cost(value))}
          />
          <Bar
            label="Tokens"
            used={budget.monthlyTokens.used + budget.monthlyTokens.lost}
            limit={budget.monthlyTokens.limit}
            format={count}
            note={noteOf(budget.monthlyTokens, count)}
          />
        </div>
      </Section>
      <Section title="Quotas">
        <div class="panel usage-quotas">
          {names.map((name) => (
            <Bar
              key={name}
              label={quotaNames[name]}
              used={quotas[name].used}
              limit={quotas[name].limit}
              format={name === "memoryBytes" ? bytes : count}
            />
          ))}
        </div>
      </Section>
    </div>
  )
}
