import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import type { ApprovalId, RunId } from "../../Schemas/Ids.ts"
import type { RunDetail, RunStatus } from "../../Schemas/Run.ts"
import { dollarsOf, secondsOf, shortOf } from "../../Schemas/Shown.ts"
import { type Connection, overHttp, said } from "./Connection.ts"
import { follow, knownOf, type Told } from "./Follow.ts"
import type * as Keyboard from "./Keyboard.ts"
import type { Screen } from "./Screen.ts"

/** The run did not do what it was for; the exit code says which. Everything about it was said already. */
class NotCompleted extends Schema.TaggedError<NotCompleted>()("NotCompleted", { status: Schema.String }) {
  override readonly [Runtime.errorReported] = false
  override get [Runtime.errorExitCode](): number {
    return this.status === "WAITING_APPROVAL" ? 3 : 1
  }
}

/** 0: COMPLETED; 1: FAILED or CANCELLED; 3: waits for people. */
export const requireCompleted = (status: RunStatus) =>
  status === "COMPLETED" ? Effect.void : Effect.fail(new NotCompleted({ status }))

const Cost = Schema.Struct({
  data: Schema.Struct({ toolCalls: Schema.Int, costUsd: Schema.NullOr(Schema.Finite) })
})

/** What the run cost, where the service tells it. */
const costOf = ({ baseUrl, token }: Connection, id: RunId) =>
  HttpClientRequest.get(`${baseUrl}/api/runs/${encodeURIComponent(id)}/usage`).pipe(
    HttpClientRequest.bearerToken(token),
    HttpClient.execute,
    Effect.flatMap(HttpClientResponse.filterStatusOk),
    Effect.flatMap(HttpClientResponse.schemaBodyJson(Cost)),
    Effect.map(({ data }) => data),
    Effect.orElseSucceed(() => undefined),
    overHttp
  )

const summaryOf = (run: RunDetail, cost: Effect.Success<ReturnType<typeof costOf>>): string => {
  const { finishedAt, startedAt, usage } = run
  const calls = cost?.toolCalls ?? run.steps.filter(({ type }) => type === "tool").length
  return [
    `agentd: ${run.status}${run.error === null ? "" : ` (${shortOf(run.error)})`}`,
    ...(startedAt !== null && finishedAt !== null
      ? [secondsOf(finishedAt.getTime() - startedAt.getTime())]
      : []),
    `${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
    ...(calls === 0 ? [] : [`${calls} ${calls === 1 ? "tool call" : "tool calls"}`]),
    ...(cost?.costUsd == null ? [] : [dollarsOf(cost.costUsd)])
  ].join(", ")
}

/** Says what waits, and asks for a decision where somebody is there; answers whether nobody is. */
const makeDecide = ({ baseUrl, client }: Connection, screen: Screen, lines: Keyboard.Lines | undefined) => {
  const question = Effect.fnUntraced(function* (id: ApprovalId, run: RunDetail) {
    const { workspaceId } = run
    const waiting = yield* said(
      baseUrl,
      client.approvals.list({ query: { workspaceId, limit: 100, offset: 0 } })
    )
    const approval = waiting.data.find((one) => one.id === id)
    if (approval === undefined) return yield* screen.note(`agentd: waits for approval ${shortOf(id)}`)
    const { address, connector, tool } = approval
    const where = connector === null ? "" : ` of ${shortOf(connector.name)} (${shortOf(address)})`
    yield* screen.note(
      `agentd: waits for approval ${shortOf(id)}: ${shortOf(tool)}${where} ${shortOf(approval.arguments)}`
    )
  })
  const ask = Effect.fnUntraced(function* (read: Keyboard.Lines, id: ApprovalId) {
    while (true) {
      yield* screen.prompt("Allow it? [y/n] ")
      const answer = (yield* read)?.trim().toLowerCase()
      if (answer === undefined) return true
      if (!/^(y|yes|n|no)$/u.test(answer)) continue
      const decision = answer.startsWith("y") ? ("approve" as const) : ("reject" as const)
      yield* client.approvals.decide({ params: { id }, payload: { decision } }).pipe(
        // Somebody was faster.
        Effect.catchTag("ApprovalDecided", ({ error }) => screen.note(`agentd: ${shortOf(error)}`)),
        (deciding) => said(baseUrl, deciding)
      )
      return false
    }
  })
  return Effect.fnUntraced(function* (runId: RunId, approvalId: string) {
    const run = (yield* said(baseUrl, client.runs.get({ params: { id: runId } }))).data
    // It is a former one: somebody has decided.
    if (run.status !== "WAITING_APPROVAL") return false
    const id = approvalId as ApprovalId
    yield* question(id, run)
    if (lines !== undefined) return yield* ask(lines, id)
    yield* screen.note(
      `agentd: decide with POST ${baseUrl}/api/approvals/${shortOf(id)} {"decision":"approve"}`
    )
    return true
  })
}

/** How to see what is left of an answer. */
export const takeUp = (id: RunId, after: number): string =>
  `agentd: the work goes on at the service; to see the rest: agentd tail ${id} --after ${after}`

/**
 * Shows a run or turn until it is over, or waits for people who are not here; says in the end how it went. Ctrl-C leaves
 * it alone, and says how to come back.
 */
export const attend = Effect.fnUntraced(function* (
  connection: Connection,
  screen: Screen,
  given: {
    /** Known at the latest when the first event was shown. */
    readonly run: () => RunId | undefined
    readonly after: number
    readonly first?: Parameters<typeof follow>[2]["first"]
    readonly heard?: (told: Told) => void
    readonly lines: Keyboard.Lines | undefined
  }
) {
  const { baseUrl, client } = connection
  const decide = makeDecide(connection, screen, given.lines)
  const handle = Effect.fnUntraced(function* (told: Told) {
    given.heard?.(told)
    yield* screen.show(told)
    const known = knownOf(told)
    const id = given.run()
    if (id === undefined || known?.event !== "status" || !("approvalId" in known.data)) return false
    return yield* decide(id, known.data.approvalId)
  })
  const detached = Effect.suspend(() => {
    const id = given.run()
    return id === undefined ? Effect.void : screen.note(takeUp(id, screen.lastId()))
  })
  yield* follow(connection, given.run, {
    after: given.after,
    ...(given.first !== undefined && { first: given.first }),
    handle
  }).pipe(Effect.onInterrupt(() => detached))
  yield* screen.endLine
  const id = given.run()
  if (id === undefined) return undefined
  const { data: run } = yield* said(baseUrl, client.runs.get({ params: { id } }))
  const cost = yield* costOf(connection, id)
  if (screen.isJson) yield* screen.result({ ...run, ...(cost !== undefined && { costUsd: cost.costUsd }) })
  else yield* screen.note(summaryOf(run, cost))
  return run.status
})
