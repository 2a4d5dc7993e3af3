import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { StoredConnector } from "../../src/Schemas/Connector.ts"
import type { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { InferenceEvent } from "../../src/Schemas/Inference.ts"
import { isTerminal, type StoredRun } from "../../src/Schemas/Run.ts"
import { Approvals } from "../../src/Services/Approvals.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { at } from "./Fixtures.ts"
import { handled, listedTool, startScripted } from "./Mcp.ts"
import { finish, makeTenant, ScriptedModel, says } from "./Service.ts"
import { eventually, pause } from "./Until.ts"

/** An MCP server with the tool `write`, whose description can be changed, that counts what it was asked for. */
export const startWriter = Effect.fnUntraced(function* (
  given: { readonly annotations?: object; readonly holds?: boolean } = {}
) {
  const state = {
    description: "writes",
    annotations: given.annotations ?? {},
    holds: given.holds ?? false,
    tools: true
  }
  const server = yield* startScripted({
    answer: ({ method }) => {
      if (method === "tools/call" && state.holds) return handled
      if (method !== "tools/list") return undefined
      const { annotations, description } = state
      return { tools: state.tools ? [listedTool("write", { annotations, description })] : [] }
    }
  })
  const count = (method: string) => server.asked.filter((asked) => asked === method).length
  return { ...server, state, calls: () => count("tools/call"), lists: () => count("tools/list") }
})

/** A connector called `docs` to this address; one that is made later is listed later. */
export const docsAt = (workspaceId: WorkspaceId, url: string, made = 0) =>
  makeConnector(workspaceId, { providerName: "docs", metadata: { url }, createdAt: at(made) })

export const change = (connector: StoredConnector, by: Partial<StoredConnector>) =>
  Effect.flatMap(ConnectorRepo, (repo) => repo.update({ ...connector, ...by }))

/** A tenant whose model calls `docs__write` once, with these arguments, and then says what came of it. */
export const writing = Effect.fnUntraced(function* (argument: object | null = { text: "x" }) {
  const tenant = yield* makeTenant()
  const model = yield* ScriptedModel
  const call = { id: "c1", name: "docs__write", arguments: argument as Record<string, string> }
  model.script = ({ messages }) =>
    Stream.fromIterable<InferenceEvent>(
      messages.at(-1)?.role === "tool" ? says("done") : [{ type: "tool_call", call }, finish]
    )
  const approvals = yield* Approvals
  const waiting = approvals.list(tenant.user, { workspaceId: tenant.workspaceId, limit: 9, offset: 0 })
  const approve = Effect.gen(function* () {
    const [approval] = yield* waiting
    if (approval === undefined) return yield* Effect.die("nothing waits")
    return yield* approvals.decide(tenant.user, approval.id, { decision: "approve" })
  })
  const results = () =>
    model.requests.flatMap(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === "tool" ? last.results : []
    })
  return { ...tenant, approve, approvals, model, results, waiting }
})

const found = (id: RunId) => Effect.flatMap(RunRepo, (repo) => Effect.map(repo.find(id), Option.getOrThrow))

/** Waits without any time passing on the clock of the test: nothing that takes its time can be cut off. */
export const untilRun = Effect.fnUntraced(function* (id: RunId, is: (run: StoredRun) => boolean) {
  yield* eventually(Effect.map(found(id), is), "the run is so")
  return yield* found(id)
})
export const isWaiting = ({ status }: StoredRun) => status === "WAITING_APPROVAL"
export const isOver = ({ status }: StoredRun) => isTerminal(status)

/** Lets time pass, second by second, until the run is over: how many. */
export const secondsUntilOver = Effect.fnUntraced(function* (id: RunId) {
  let seconds = 0
  while (!isOver(yield* found(id))) {
    yield* TestClock.adjust("1 second")
    yield* pause
    seconds++
  }
  return { seconds, run: yield* found(id) }
})
