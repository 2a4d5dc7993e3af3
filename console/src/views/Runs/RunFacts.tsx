import type { ComponentChildren } from "preact"
import type { AgentId, CronJobId } from "../../../../src/Schemas/Ids.ts"
import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import type { RunUsage } from "../../../../src/Schemas/UsageReport.ts"
import { call } from "../../Client.ts"
import { cost, count, duration } from "../../Format.ts"
import { useLoad } from "../../Load.ts"
import { href } from "../../Router.ts"
import { Facts } from "../../ui/Page.tsx"
import { Age, Moment } from "../../ui/Time.tsx"
import { isTurn } from "./Kind.ts"
import { useTick } from "./useTick.ts"

type Fact = readonly [name: string, value: ComponentChildren]

/** A link to an agent by its name, or by its id as long as that is not known. */
const AgentLink = ({ id }: { readonly id: AgentId }) => {
  const { data } = useLoad(id, (signal) => call((client) => client.agents.get({ params: { id } }), signal))
  return <a href={href(["agents", id])}>{data?.data.name ?? id}</a>
}

const ScheduleLink = ({ id }: { readonly id: CronJobId }) => {
  const { data } = useLoad(id, (signal) => call((client) => client.cronJobs.get({ params: { id } }), signal))
  return <a href={href(["schedules", id])}>{data?.data.name ?? id}</a>
}

const Took = ({ run }: { readonly run: RunDetail }) => {
  const now = useTick(!isTerminal(run.status), 1_000)
  const { createdAt, finishedAt, startedAt } = run
  if (startedAt === null) return <span class="muted">not begun</span>
  const millis = (finishedAt?.getTime() ?? Math.max(now, startedAt.getTime())) - startedAt.getTime()
  return (
    <span
      class="number"
      title={`Since it began. It was made ${duration(startedAt.getTime() - createdAt.getTime())} before.`}
    >
      {duration(millis)}
    </span>
  )
}

/** What there is to know of a run beside its texts and steps. */
export const RunFacts = ({
  run,
  usage
}: {
  readonly run: RunDetail
  readonly usage: RunUsage | undefined
}) => {
  const { inputTokens, outputTokens } = usage ?? run.usage
  const cached = usage?.cachedInputTokens ?? 0
  const facts: ReadonlyArray<Fact | undefined> = [
    run.runAt === null ? undefined : ["Begins", <Moment key="begins" at={run.runAt} />],
    ["Duration", <Took key="took" run={run} />],
    ["Created", <Age key="made" at={run.createdAt} />],
    run.finishedAt === null ? undefined : ["Ended", <Age key="ended" at={run.finishedAt} />],
    ["Agent", run.agentId === null ? "None" : <AgentLink key={run.agentId} id={run.agentId} />],
    ["Model", run.model === null ? "None yet" : `${run.provider ?? ""} · ${run.model}`],
    [
      "Tokens",
      <span
        key="tokens"
        class="number"
        title={`${inputTokens} in, of these ${cached} from a cache; ${outputTokens} out`}
      >
        {count(inputTokens)} in · {count(outputTokens)} out
      </span>
    ],
    [
      "Cost",
      <span
        key="cost"
        class="number"
        title={usage?.costUsd === null ? "The price of its model is not known." : undefined}
      >
        {usage === undefined ? "…" : usage.costUsd === null ? "not known" : cost(usage.costUsd)}
      </span>
    ],
    usage === undefined ? undefined : ["Calls", `${usage.modelCalls} model · ${usage.toolCalls} tool`],
    ["Attempts", `${run.attempts}`],
    ["Autonomy", run.autonomyLevel],
    run.cronJobId === null
      ? undefined
      : ["Schedule", <ScheduleLink key={run.cronJobId} id={run.cronJobId} />],
    isTurn(run) ? ["Kind", "An answer in a chat"] : undefined
  ]
  return (
    <div class="run-facts">
      <Facts facts={facts.filter((fact) => fact !== undefined)} />
    </div>
  )
}
