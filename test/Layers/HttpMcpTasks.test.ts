import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { start } from "../support/Engine.ts"
import { type Message, makeMcpWeb, messagesOf } from "../support/McpWeb.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"

const latest = "2025-11-25"
const extension = { extensions: { "io.modelcontextprotocol/tasks": {} } }
const supervised = { prompt: 'call remember {"key":"k","value":"v"}', autonomyLevel: "supervised" }
const approve = { action: "accept", content: { decision: "approve" } }

const inWeb = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.provide(Effect.andThen(start, test), layerOffline())

/** A workspace with the agent `Bot`. */
const subject = Effect.gen(function* () {
  const web = yield* makeMcpWeb
  const { token, workspaceId } = yield* makeTenant()
  yield* web.send("POST", "/api/agents", { token, json: { workspaceId, name: "Bot" } })
  const { session } = yield* web.begin(token, latest, { elicitation: {} })
  const old = { version: latest, session }
  const statusOf = (id: string) =>
    Effect.map(
      web.call(token, "get_run", { runId: id }),
      ({ result }) => result.structuredContent.status as string
    )
  return {
    ...web,
    token,
    workspaceId,
    old,
    statusOf,
    waits: (id: string) =>
      eventually(
        Effect.map(statusOf(id), (status) => status === "WAITING_APPROVAL"),
        "the run waits"
      ),
    ends: (id: string) =>
      eventually(
        Effect.map(statusOf(id), (status) => status === "COMPLETED"),
        "the run ends"
      )
  }
})

describe("tasks of /mcp", () => {
  it.live("of 2025-11-25 are runs that are asked for", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, call, ends, old, token } = yield* subject
        const asked = { ...old, params: { task: { ttl: 60_000 } } }
        const { task } = (yield* call(token, "Bot", { prompt: "hi" }, asked)).result
        assert.match(task.taskId, /^run_/)
        assert.deepInclude(task, { ttl: null, pollInterval: 2_000 })
        yield* ends(task.taskId)
        const got = (yield* ask(token, "tasks/get", { taskId: task.taskId }, old)).result
        assert.strictEqual(got.status, "completed")
        const { result } = yield* ask(token, "tasks/result", { taskId: task.taskId }, old)
        assert.deepStrictEqual(result._meta, {
          "io.modelcontextprotocol/related-task": { taskId: task.taskId }
        })
        assert.strictEqual(result.structuredContent.id, task.taskId)
        const over = yield* ask(token, "tasks/cancel", { taskId: task.taskId }, old)
        assert.strictEqual(over.error.code, -32602)
        for (let n = 0; n < 51; n++) yield* call(token, "send_task", { prompt: `${n}` }, asked)
        const first = (yield* ask(token, "tasks/list", {}, old)).result
        const rest = (yield* ask(token, "tasks/list", { cursor: first.nextCursor }, old)).result
        assert.deepStrictEqual([first.tasks.length, rest.tasks.length], [50, 2])
        assert.strictEqual(rest.tasks[1].taskId, task.taskId)
        const refused = yield* call(token, "chat", { message: "hi" }, asked)
        assert.strictEqual(refused.error.code, -32601)
        assert.strictEqual((yield* call(token, "Bot", {}, asked)).error.message, "prompt: is required")
        const older = { version: "2025-06-18" }
        assert.strictEqual((yield* ask(token, "tasks/list", {}, older)).error.code, -32601)
        assert.isUndefined((yield* call(token, "Bot", { prompt: "x" }, { ...asked, ...older })).result.task)
      })
    )
  )

  it.live("of 2026-07-28 are made for clients that take them, and ask their users", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, call, ends, token, waits } = yield* subject
        const can = { capabilities: { ...extension, elicitation: {} } }
        const made = (yield* call(token, "Bot", supervised, can)).result
        assert.deepInclude(made, { resultType: "task", ttlMs: null, pollIntervalMs: 2_000 })
        const { taskId } = made
        yield* waits(taskId)
        const waiting = (yield* ask(token, "tasks/get", { taskId }, can)).result
        assert.deepStrictEqual([waiting.resultType, waiting.status], ["complete", "input_required"])
        const [key = ""] = Object.keys(waiting.inputRequests)
        assert.match(key, /^appr_/)
        assert.strictEqual(waiting.inputRequests[key].method, "elicitation/create")
        assert.include(waiting.inputRequests[key].params.message, "remember")
        const update = (inputResponses: object) => ask(token, "tasks/update", { taskId, inputResponses }, can)
        yield* update({ [key]: { action: "cancel" }, nonsense: approve })
        assert.strictEqual((yield* ask(token, "tasks/get", { taskId }, can)).result.status, "input_required")
        assert.strictEqual((yield* update({ [key]: approve })).result.resultType, "complete")
        yield* ends(taskId)
        const over = (yield* ask(token, "tasks/get", { taskId }, can)).result
        assert.deepStrictEqual([over.status, over.result.isError], ["completed", false])
        const { messages } = yield* ask(
          token,
          "subscriptions/listen",
          { notifications: { taskIds: [taskId], toolsListChanged: true } },
          { ...can, id: "s" }
        )
        assert.deepStrictEqual(messages[0].params.notifications, { taskIds: [taskId] })
        const told = messages.filter(({ method }: Message) => method === "notifications/tasks")
        assert.strictEqual(told.at(-1).params.status, "completed")
        assert.isTrue(
          told.every(({ params }: Message) => params._meta["io.modelcontextprotocol/subscriptionId"] === "s")
        )
        assert.deepStrictEqual(
          (yield* ask(token, "tasks/cancel", { taskId }, can)).result.resultType,
          "complete"
        )
        const none = yield* ask(token, "tasks/get", { taskId })
        assert.deepStrictEqual([none.status, none.error.code], [400, -32021])
      })
    )
  )

  it.live("that fail are answers that are errors, and tasks that failed before 2026-07-28", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, call, old, statusOf, token, waits } = yield* subject
        const can = { capabilities: extension }
        const { taskId } = (yield* call(token, "Bot", supervised, can)).result
        yield* waits(taskId)
        const blind = (yield* ask(token, "tasks/get", { taskId }, can)).result
        assert.deepStrictEqual([blind.status, blind.inputRequests], ["input_required", {}])
        yield* ask(token, "tasks/cancel", { taskId }, can)
        assert.strictEqual(yield* statusOf(taskId), "CANCELLED")
        for (const options of [can, old]) {
          assert.strictEqual((yield* ask(token, "tasks/get", { taskId }, options)).result.status, "cancelled")
        }
        const { result } = yield* ask(token, "tasks/result", { taskId }, old)
        assert.deepStrictEqual([result.isError, result.structuredContent.status], [true, "CANCELLED"])
      })
    )
  )
})

describe("people that a call waits for", () => {
  it.live("are asked through a client of 2026-07-28, which goes on with its call on any node", () =>
    inWeb(
      Effect.gen(function* () {
        const { call, send, token, workspaceId } = yield* subject
        const other = yield* makeMcpWeb
        const can = { capabilities: { elicitation: { form: {} } } }
        for (const [name, args] of [
          ["Bot", supervised],
          ["chat", { message: supervised.prompt, autonomyLevel: "supervised" }]
        ] as const) {
          const asked = (yield* call(token, name, args, can)).result
          assert.strictEqual(asked.resultType, "input_required")
          const [key = ""] = Object.keys(asked.inputRequests)
          const goOn = (response: object) =>
            other.call(token, name, args, {
              ...can,
              params: { requestState: asked.requestState, inputResponses: { [key]: response } }
            })
          const closed = (yield* goOn({ action: "cancel" })).result
          assert.deepStrictEqual([closed.resultType, closed.isError], ["complete", true])
          const { result } = yield* goOn(approve)
          assert.deepStrictEqual([result.resultType, result.isError], ["complete", false])
          assert.include(result.content[0].text, "remember returned")
        }
        const forged = yield* call(token, "Bot", supervised, {
          ...can,
          params: { requestState: "eyJhIjoxfQ" }
        })
        assert.strictEqual(forged.error.code, -32602)
        const stranger = yield* makeTenant()
        const asked = (yield* call(token, "Bot", supervised, can)).result
        const params = { requestState: asked.requestState, inputResponses: {} }
        yield* send("POST", "/api/agents", { token, json: { workspaceId, name: "Other" } })
        for (const name of ["chat", "Other", "nobody"]) {
          const mixed = yield* call(token, name, supervised, { ...can, params })
          assert.strictEqual(mixed.error?.message, "requestState: is none of this call", name)
        }
        const stolen = yield* call(stranger.token, "send_task", supervised, { ...can, params })
        assert.deepStrictEqual([stolen.error.code, stolen.error.message], [-32602, "run not found"])
      })
    )
  )

  it.live("are asked through the stream of an older one, and answer with a request of its own", () =>
    inWeb(
      Effect.gen(function* () {
        const { call, old, send, token } = yield* subject
        const asking = yield* Effect.forkChild(call(token, "Bot", supervised, { ...old, id: 41 }))
        let id: string | undefined
        yield* eventually(
          Effect.gen(function* () {
            const { body } = yield* send("GET", `/api/runs?workspaceId=${yield* workspaceOf(send, token)}`, {
              token
            })
            const [run] = (body as Message).data
            if (run?.status !== "WAITING_APPROVAL") return false
            const approvals = yield* send("GET", `/api/approvals?workspaceId=${run.workspaceId}`, { token })
            id = (approvals.body as Message).data[0]?.id
            return id !== undefined
          }),
          "the user is asked"
        )
        const json = { jsonrpc: "2.0", id, result: { action: "decline" } }
        assert.strictEqual((yield* send("POST", "/mcp", { token, json })).status, 202)
        const { messages, result, text } = yield* Fiber.join(asking)
        const question = messages.find(({ method }: Message) => method === "elicitation/create")
        assert.strictEqual(question.id, id)
        assert.include(result.content[0].text, "not allowed")
        // From where it was, any node tells the rest.
        const [, last] = /id: (\S+)\nevent: message\ndata: \{"jsonrpc":"2.0","id":"appr_/.exec(text) ?? []
        const other = yield* makeMcpWeb
        const headers = { "last-event-id": last ?? "", "mcp-session-id": old.session ?? "" }
        const rest = messagesOf((yield* other.send("GET", "/mcp", { token, headers })).text)
        assert.deepStrictEqual([rest.at(-1).id, rest.at(-1).result], [41, result])
        const stranger = yield* makeTenant()
        const refused = messagesOf(
          (yield* other.send("GET", "/mcp", { token: stranger.token, headers })).text
        )
        assert.deepStrictEqual([refused.length, refused[0].error.message], [1, "run not found"])
        // Who works in another workspace of theirs sees nothing of this one.
        const json2 = { name: "Second" }
        const second = yield* send("POST", "/api/workspaces", { token, json: json2 })
        const elsewhere = { ...headers, "x-workspace-id": (second.body as Message).data.id }
        const unseen = messagesOf((yield* other.send("GET", "/mcp", { token, headers: elsewhere })).text)
        assert.deepStrictEqual([unseen.length, unseen[0].error.message], [1, "run not found"])
        const nonsense = { ...headers, "last-event-id": "nonsense" }
        assert.strictEqual((yield* other.send("GET", "/mcp", { token, headers: nonsense })).status, 400)
      })
    )
  )

  it.live("need not be waited for: a request that is taken back ends its run, on whichever node", () =>
    inWeb(
      Effect.gen(function* () {
        const { call, old, send, statusOf, token } = yield* subject
        const asking = yield* Effect.forkChild(call(token, "Bot", supervised, { ...old, id: 7 }))
        const workspaceId = yield* workspaceOf(send, token)
        let runId = ""
        yield* eventually(
          Effect.gen(function* () {
            const { body } = yield* send("GET", `/api/runs?workspaceId=${workspaceId}`, { token })
            runId = (body as Message).data[0]?.id ?? ""
            return (body as Message).data[0]?.status === "WAITING_APPROVAL"
          }),
          "the run waits"
        )
        const other = yield* makeMcpWeb
        const cancel = (session: string, by = token) => {
          const json = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }
          return other.send("POST", "/mcp", { token: by, json, headers: { "mcp-session-id": session } })
        }
        const { session: another = "" } = yield* other.begin(token, latest)
        yield* cancel(another)
        yield* cancel(old.session ?? "", (yield* makeTenant()).token)
        assert.strictEqual(yield* statusOf(runId), "WAITING_APPROVAL")
        yield* cancel(old.session ?? "")
        const { result } = yield* Fiber.join(asking)
        assert.deepStrictEqual([result.isError, yield* statusOf(runId)], [true, "CANCELLED"])
      })
    )
  )

  it.live("of which a client can read no more says so, and goes on", () =>
    inWeb(
      Effect.gen(function* () {
        const { call, old, statusOf, token } = yield* subject
        const most = 64
        for (let id = 0; id < most; id++) {
          yield* Effect.forkChild(call(token, "Bot", supervised, { ...old, id }))
        }
        const waiting = Effect.map(
          call(token, "list_runs", { status: "WAITING_APPROVAL" }),
          ({ result }) => result.structuredContent.total === most
        )
        yield* eventually(waiting, "as many streams are read as may be")
        const { error } = yield* call(token, "Bot", supervised, { ...old, id: most })
        assert.include(error.message, `event streams: ${most} of this user are open`)
        assert.include(error.message, error.data.runId)
        yield* eventually(
          Effect.map(statusOf(error.data.runId), (status) => status === "WAITING_APPROVAL"),
          "the run goes on"
        )
      })
    )
  )
})

const workspaceOf = (send: Effect.Success<typeof makeMcpWeb>["send"], token: string) =>
  Effect.map(send("GET", "/api/workspaces", { token }), ({ body }) => (body as Message).data[0].id as string)
