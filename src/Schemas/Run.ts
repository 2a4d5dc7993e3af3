import * as Schema from "effect/Schema"
import type { StoredAgent } from "./Agent.ts"
import { AnsweringModel } from "./AnsweringModel.ts"
import { AutonomyLevel, defaultAutonomy } from "./Autonomy.ts"
import {
  AgentId,
  ConversationId,
  CronJobId,
  MessageId,
  ProjectId,
  ProviderKeyId,
  RunId,
  WorkspaceId
} from "./Ids.ts"
import { isPutAside, type JournalStep, spentOf } from "./Journal.ts"
import { RunPolicy, resolvePolicy } from "./Policy.ts"
import { Provider } from "./ProviderKey.ts"
import { text } from "./Text.ts"
import { Moment, Timestamp } from "./Timestamp.ts"
import { ToolResult } from "./Tool.ts"
import { KeptInput, type TurnInput } from "./TurnInput.ts"
import { noUsage, toUsage, Usage } from "./Usage.ts"

/** CONTRACT.md section 5. The last three are terminal and never change. */
export const RunStatus = Schema.Literals([
  "PENDING",
  "RUNNING",
  "WAITING_APPROVAL",
  "COMPLETED",
  "FAILED",
  "CANCELLED"
])
export type RunStatus = typeof RunStatus.Type

export const Run = Schema.Struct({
  id: RunId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  status: RunStatus,
  prompt: Schema.String,
  output: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "Run" })
export type Run = typeof Run.Type

/** A string, as the specification has it, that is one of the providers that there are (CONTRACT.md section 4). */
const SelectedProvider = text(1, 100).check(
  Schema.makeFilter((value: string) =>
    Provider.literals.some((provider) => provider === value)
      ? undefined
      : `there is no such provider; there are ${Provider.literals.join(", ")}`
  )
)

/** Specification, POST /api/tasks; `agentId` and `autonomyLevel` by CONTRACT.md section 4, `runAt` by section 11. */
export const CreateTask = Schema.Struct({
  workspaceId: WorkspaceId,
  prompt: text(1, 10_000),
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  agentId: Schema.optionalKey(Schema.NullOr(AgentId)),
  selectedProvider: Schema.optionalKey(Schema.NullOr(SelectedProvider)),
  selectedModel: Schema.optionalKey(Schema.NullOr(text(1, 200))),
  providerKeyId: Schema.optionalKey(Schema.NullOr(ProviderKeyId)),
  connectorIds: Schema.optionalKey(
    Schema.Array(text(1, 100)).check(
      Schema.makeFilter(
        (ids: ReadonlyArray<string>) => (ids.length <= 100 ? undefined : "must be at most 100 ids"),
        {
          toJsonSchema: () => ({ maxItems: 100 })
        }
      )
    )
  ),
  autonomyLevel: Schema.optionalKey(AutonomyLevel),
  runAt: Schema.optionalKey(Schema.NullOr(Moment))
}).annotate({ identifier: "CreateTask" })
export type CreateTask = typeof CreateTask.Type

/** Tasks are runs that callers see in lists; turns answer messages of conversations on the same engine. */
export const RunKind = Schema.Literals(["task", "turn"])
export type RunKind = typeof RunKind.Type

/** Which conversation a turn answers in, and the id that its reply will have. */
export const Turn = Schema.Struct({ conversationId: ConversationId, replyId: MessageId })
export type Turn = typeof Turn.Type

/** A run as it is stored: what is returned and what executing it needs. */
export const StoredRun = Schema.Struct({
  ...Run.fields,
  agentId: Schema.NullOr(AgentId),
  cronJobId: Schema.NullOr(CronJobId),
  autonomyLevel: AutonomyLevel,
  selectedProvider: Schema.NullOr(Schema.String),
  selectedModel: Schema.NullOr(Schema.String),
  providerKeyId: Schema.NullOr(ProviderKeyId),
  connectorIds: Schema.NullOr(Schema.Array(Schema.String)),
  /** What policies said when it was made; null: nothing, as of runs that a version before this one has made. */
  policy: Schema.NullOr(RunPolicy),
  /** Of a chat turn; null for a task. */
  turn: Schema.NullOr(Turn),
  /** What a turn is asked beside its conversation; null: nothing. */
  input: Schema.NullOr(KeptInput),
  /** PENDING, it does not begin before: null once it is due. */
  notBefore: Schema.NullOr(Timestamp),
  error: Schema.NullOr(Schema.String),
  /** What went wrong, in a word for programs. */
  errorCode: Schema.NullOr(Schema.String),
  /** The model of the latest execution that had an answer: each asks one, the choice of which is made anew. */
  answeredBy: Schema.NullOr(AnsweringModel),
  /**
   * In which trace it was made (W3C Trace Context), and so is executed: that of the request or slot, or else what its
   * caller said. Null: in none.
   */
  traceparent: Schema.NullOr(Schema.String),
  attempts: Schema.Int,
  /** Counts the executions that owned the run: only the latest may write. */
  epoch: Schema.Int,
  usage: Usage,
  startedAt: Schema.NullOr(Timestamp),
  firstTokenAt: Schema.NullOr(Timestamp),
  finishedAt: Schema.NullOr(Timestamp)
})
export type StoredRun = typeof StoredRun.Type

/** A finished step as callers see it: without what only the provider needs. */
export const RunStep = Schema.Union([
  Schema.Struct({
    index: Schema.Int,
    type: Schema.Literal("model"),
    text: Schema.String,
    toolCalls: Schema.Array(
      Schema.Struct({ id: Schema.String, name: Schema.String, arguments: Schema.Json })
    ),
    usage: Usage
  }),
  Schema.Struct({ index: Schema.Int, type: Schema.Literal("tool"), result: ToolResult })
])
export type RunStep = typeof RunStep.Type

/**
 * CONTRACT.md section 8, GET /api/runs/{id}. Waiting began at `createdAt`. `provider`, `model` and `providerKeyId` are
 * what `StoredRun.answeredBy` says: null until a model has answered. The key may have been deleted since. `runAt` is what
 * a PENDING run waits for; null once it is due.
 */
export const RunDetail = Schema.Struct({
  ...Run.fields,
  agentId: Schema.NullOr(AgentId),
  cronJobId: Schema.NullOr(CronJobId),
  autonomyLevel: AutonomyLevel,
  runAt: Schema.NullOr(Timestamp),
  error: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  providerKeyId: Schema.NullOr(ProviderKeyId),
  steps: Schema.Array(RunStep),
  usage: Usage,
  attempts: Schema.Int,
  startedAt: Schema.NullOr(Timestamp),
  firstTokenAt: Schema.NullOr(Timestamp),
  finishedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "RunDetail" })
export type RunDetail = typeof RunDetail.Type

/** What a run has before anybody executed it. */
export const unstarted = {
  notBefore: null,
  output: null,
  error: null,
  errorCode: null,
  answeredBy: null,
  traceparent: null,
  attempts: 0,
  epoch: 0,
  usage: noUsage,
  startedAt: null,
  firstTokenAt: null,
  finishedAt: null
} as const

export const kindOf = ({ turn }: Pick<StoredRun, "turn">): RunKind => (turn === null ? "task" : "turn")

/** A run as it is made: what it is asked is there. */
export type NewRun = StoredRun & { readonly input: TurnInput | null }

/** What of a new run is not the same for each of them, beside its prompt and whose it is. */
type Given = Exclude<keyof StoredRun, "status" | "updatedAt" | Exclude<keyof typeof unstarted, "notBefore">>

/** A PENDING run that is to be stored; what is not given is what a task that names nothing has. */
export const newRun = (
  given: Pick<StoredRun, "id" | "workspaceId" | "prompt" | "createdAt"> &
    Partial<Pick<NewRun, Given | "traceparent">>
): NewRun => ({
  projectId: null,
  status: "PENDING",
  ...unstarted,
  agentId: null,
  cronJobId: null,
  turn: null,
  autonomyLevel: defaultAutonomy,
  selectedProvider: null,
  selectedModel: null,
  providerKeyId: null,
  connectorIds: null,
  policy: null,
  input: null,
  ...given,
  updatedAt: given.createdAt
})

/** The run of a task. */
export const runOfTask = (
  input: CreateTask,
  given: {
    readonly id: RunId
    readonly agent: Pick<StoredAgent, "id" | "policy"> | null
    readonly at: Date
    readonly traceparent?: string | null
  }
): NewRun =>
  newRun({
    id: given.id,
    workspaceId: input.workspaceId,
    projectId: input.projectId ?? null,
    prompt: input.prompt,
    createdAt: given.at,
    traceparent: given.traceparent ?? null,
    agentId: given.agent?.id ?? null,
    ...resolvePolicy({ own: input, agent: given.agent?.policy ?? null }),
    selectedProvider: input.selectedProvider ?? null,
    selectedModel: input.selectedModel ?? null,
    providerKeyId: input.providerKeyId ?? null,
    notBefore: input.runAt != null && input.runAt > given.at ? input.runAt : null
  })

/** Whether a status never changes again. */
export const isTerminal = (status: RunStatus): boolean =>
  status === "COMPLETED" || status === "FAILED" || status === "CANCELLED"

/** Whether it is over or waits for people: it does not go on by itself. */
export const isSettled = (status: RunStatus): boolean => isTerminal(status) || status === "WAITING_APPROVAL"

/** 409: what is asked of a run that is over. */
export class RunFinished extends Schema.TaggedError<RunFinished>()("RunFinished", {
  error: Schema.String
}) {}

/** The fields that the specification shows of a stored run. */
export const toRun = ({
  createdAt,
  id,
  output,
  projectId,
  prompt,
  status,
  updatedAt,
  workspaceId
}: StoredRun): Run => ({ id, workspaceId, projectId, status, prompt, output, createdAt, updatedAt })

const tokensOf = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens

const toStep = ([index, step]: readonly [number, JournalStep]): RunStep => {
  if (step.type === "tool") return { index, ...step }
  const toolCalls = step.toolCalls.map(({ arguments: value, id, name }) => ({ id, name, arguments: value }))
  return { index, type: step.type, text: step.text, usage: toUsage(step.usage), toolCalls }
}

/** A run with its finished steps in order. What it cost is at least what its steps did. */
export const toRunDetail = (stored: StoredRun, steps: ReadonlyMap<number, JournalStep>): RunDetail => {
  const ordered = Array.from(steps)
    .filter(([index]) => !isPutAside(index))
    .sort(([a], [b]) => a - b)
  const spent = toUsage(spentOf(steps.values()))
  return {
    ...toRun(stored),
    agentId: stored.agentId,
    cronJobId: stored.cronJobId,
    autonomyLevel: stored.autonomyLevel,
    runAt: stored.notBefore,
    error: stored.error,
    provider: stored.answeredBy?.provider ?? null,
    model: stored.answeredBy?.model ?? null,
    providerKeyId: stored.answeredBy?.providerKeyId ?? null,
    steps: ordered.map(toStep),
    usage: tokensOf(stored.usage) > tokensOf(spent) ? stored.usage : spent,
    attempts: stored.attempts,
    startedAt: stored.startedAt,
    firstTokenAt: stored.firstTokenAt,
    finishedAt: stored.finishedAt
  }
}
