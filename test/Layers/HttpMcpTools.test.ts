import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { start } from "../support/Engine.ts"
import { type Message, makeMcpWeb } from "../support/McpWeb.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"

const inWeb = <A, E, R>(test: Effect.Effect<A, E, R>) =>
  Effect.provide(Effect.andThen(start, test), layerOffline())

const namesOf = ({ result }: Message) => result.tools.map(({ name }: Message) => name)
const own = 7

describe("the tools of /mcp", () => {
  it.live("do what the API does, and answer what it answers", () =>
    inWeb(
      Effect.gen(function* () {
        const { call, send } = yield* makeMcpWeb
        const { token, workspaceId } = yield* makeTenant()
        const got = (name: string, args?: object) =>
          Effect.map(call(token, name, args), ({ result }) => result)

        const kept = yield* got("remember", { key: "colour", value: "green" })
        assert.deepInclude(kept.structuredContent, {
          workspaceId,
          key: "colour",
          value: "green",
          category: "general"
        })
        assert.deepStrictEqual(JSON.parse(kept.content[0].text), kept.structuredContent)
        const [entry] = (yield* got("recall", { query: "gree" })).structuredContent.entries
        assert.strictEqual(entry.id, kept.structuredContent.id)
        assert.lengthOf((yield* got("recall", { query: "red" })).structuredContent.entries, 0)

        const sent = yield* got("send_task", { prompt: "call current_time {}", waitSeconds: 60 })
        assert.strictEqual(sent.structuredContent.status, "COMPLETED")
        const runId = sent.structuredContent.id
        const read = yield* send("GET", `/api/runs/${runId}`, { token })
        assert.strictEqual((read.body as Message).data.output, sent.structuredContent.output)
        assert.strictEqual(
          (yield* got("get_run", { runId })).structuredContent.output,
          sent.structuredContent.output
        )
        const over = yield* got("cancel_run", { runId })
        assert.deepStrictEqual([over.isError, over._meta["agentd/errorCode"]], [true, "run_finished"])

        for (let n = 0; n < 3; n++) yield* got("send_task", { prompt: `task ${n}`, waitSeconds: 60 })
        const first = (yield* got("list_runs", { limit: 3 })).structuredContent
        assert.deepStrictEqual(
          [first.total, first.runs.map(({ prompt }: Message) => prompt)],
          [4, ["task 2", "task 1", "task 0"]]
        )
        const second = (yield* got("list_runs", { limit: 3, cursor: first.nextCursor })).structuredContent
        assert.deepStrictEqual([second.runs[0].id, second.nextCursor], [runId, null])

        const said = (yield* got("chat", { message: "hello" })).structuredContent
        const again = (yield* got("chat", { message: "more", conversationId: said.conversationId }))
          .structuredContent
        assert.strictEqual(again.conversationId, said.conversationId)
        const conversation = (yield* send("GET", `/api/chat/conversations/${said.conversationId}`, { token }))
          .body as Message
        assert.deepStrictEqual(
          conversation.data.messages.map(({ content }: Message) => content),
          ["hello", said.reply, "more", again.reply]
        )
      })
    )
  )

  it.live("say what is wrong with an argument, for the model to read", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, call } = yield* makeMcpWeb
        const { token } = yield* makeTenant()
        for (const [name, args, text] of [
          ["send_task", {}, "prompt: is required"],
          ["send_task", { prompt: "x".repeat(10_001) }, "prompt: must be 1 to 10000 characters"],
          ["send_task", { prompt: "x", waitSeconds: 61 }, "waitSeconds: must be a whole number from 0 to 60"],
          ["send_task", { prompt: "x", autonomyLevel: "wild" }, "autonomyLevel: "],
          [
            "send_task",
            { prompt: "x", agentId: "agent_nobodys" },
            "agentId: does not exist in this workspace"
          ],
          ["get_run", { runId: 5 }, "runId: must be a string"],
          ["list_runs", { limit: 0 }, "limit: must be a whole number from 1 to 100"],
          ["list_runs", { cursor: "nonsense" }, "cursor: there is no such page"],
          ["chat", { message: " " }, "message: must not be only white space"],
          ["remember", { key: "k" }, "value: is required"],
          ["recall", { workspaceId: "ws_nobodys" }, "workspaceId: you are not a member of this workspace"]
        ] as const) {
          const { result, status } = yield* call(token, name, args)
          assert.deepStrictEqual([status, result.isError], [200, true], name)
          assert.include(result.content[0].text, text)
          assert.isUndefined(result.structuredContent)
        }
        const { error } = yield* call(token, "no_such_tool")
        assert.deepStrictEqual([error.code, error.message], [-32602, "Unknown tool: no_such_tool"])
        assert.strictEqual(
          (yield* ask(token, "tools/call", { name: "chat", arguments: [] })).error.code,
          -32602
        )
        assert.strictEqual((yield* ask(token, "tools/list", { cursor: "nonsense" })).error.code, -32602)
      })
    )
  )

  it.live("include each active agent, whose calls are runs of it", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, call, send } = yield* makeMcpWeb
        const { token, workspaceId } = yield* makeTenant()
        const make = (name: string, description?: string) =>
          Effect.map(
            send("POST", "/api/agents", { token, json: { workspaceId, name, description } }),
            ({ body }) => (body as Message).data.id as string
          )
        const bot = yield* make("Résumé Bot!", "Reads résumés.")
        const off = yield* make("Off")
        yield* send("PATCH", `/api/agents/${off}`, { token, json: { isActive: false } })
        yield* make("chat")
        yield* make("Twin")
        yield* make("twin")
        yield* make("报告")
        const listed = yield* ask(token, "tools/list")
        const names: ReadonlyArray<string> = namesOf(listed).slice(own)
        assert.strictEqual(names[0], "Resume_Bot")
        assert.match(
          names.join(" "),
          /^Resume_Bot chat_[0-9a-f]{8} Twin_[0-9a-f]{8} twin_[0-9a-f]{8} agent_[0-9a-f]{8}$/u
        )
        const tool = listed.result.tools[own]
        assert.deepStrictEqual([tool.title, tool.description], ["Résumé Bot!", "Reads résumés."])

        const { messages, result } = yield* call(
          token,
          "Resume_Bot",
          { prompt: "call current_time {}" },
          { params: { _meta: { progressToken: "p" } } }
        )
        assert.deepInclude(result.structuredContent, { agentId: bot, status: "COMPLETED" })
        assert.strictEqual(result.content[0].text, result.structuredContent.output)
        const told = messages
          .slice(0, -1)
          .map(({ method, params }: Message) => [method, params.progressToken, params.message])
        assert.deepInclude(told, ["notifications/progress", "p", "calling current_time"])
        const numbers = messages.slice(0, -1).map(({ params }: Message) => params.progress)
        assert.isTrue(numbers.every((value: number, at: number) => at === 0 || value > numbers[at - 1]))
        assert.strictEqual((yield* call(token, bot, { prompt: "hi" })).result.structuredContent.agentId, bot)
        assert.strictEqual(
          (yield* call(token, off, { prompt: "hi" })).result._meta["agentd/errorCode"],
          "agent_inactive"
        )
        assert.strictEqual((yield* call(token, "Twin", { prompt: "hi" })).error.code, -32602)
      })
    )
  )

  it.live("come in pages, none of them twice", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, send } = yield* makeMcpWeb
        const { token, workspaceId } = yield* makeTenant()
        const agents = 205
        for (let n = 0; n < agents; n++) {
          yield* send("POST", "/api/agents", { token, json: { workspaceId, name: `bot ${n}` } })
        }
        const all: Array<string> = []
        let cursor: string | undefined
        let pages = 0
        do {
          const page: Message = yield* ask(token, "tools/list", cursor === undefined ? {} : { cursor })
          all.push(...namesOf(page))
          cursor = page.result.nextCursor
          pages++
        } while (cursor !== undefined)
        assert.deepStrictEqual([pages, all.length, new Set(all).size], [3, own + agents, own + agents])
        assert.strictEqual(all.at(-1), `bot_${agents - 1}`)
      })
    )
  )

  it.live("begin something once for each key, whatever the id of the request", () =>
    inWeb(
      Effect.gen(function* () {
        const { call } = yield* makeMcpWeb
        const { token } = yield* makeTenant()
        const inMeta = { params: { _meta: { "agentd/idempotencyKey": "one" } } }
        const one = yield* call(
          token,
          "send_task",
          { prompt: "x" },
          { headers: { "idempotency-key": "one" }, id: 1 }
        )
        const two = yield* call(token, "send_task", { prompt: "x" }, { ...inMeta, id: 2 })
        assert.strictEqual(two.result.structuredContent.id, one.result.structuredContent.id)
        const other = yield* call(token, "send_task", { prompt: "y" }, inMeta)
        assert.strictEqual(other.result._meta["agentd/errorCode"], "idempotency_conflict")
        const said = { headers: { "idempotency-key": "two" } }
        const first = yield* call(token, "chat", { message: "hi" }, said)
        const again = yield* call(token, "chat", { message: "hi" }, said)
        assert.deepStrictEqual(again.result, first.result)
        const bad = yield* call(
          token,
          "chat",
          { message: "hi" },
          { headers: { "idempotency-key": "not a key" } }
        )
        assert.isTrue(bad.result.isError)
        assert.strictEqual((yield* call(token, "list_runs")).result.structuredContent.total, 1)
      })
    )
  )
})

describe("tenants of /mcp", () => {
  it.live("see nothing of each other, and the header shuts out the caller's own other workspaces", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, call, send } = yield* makeMcpWeb
        const mine = yield* makeTenant()
        const other = yield* makeTenant()
        const agent = yield* send("POST", "/api/agents", {
          token: mine.token,
          json: { workspaceId: mine.workspaceId, name: "Mine" }
        })
        const agentId = (agent.body as Message).data.id
        const run = (yield* call(mine.token, "Mine", { prompt: "hi" })).result.structuredContent
        const said = (yield* call(mine.token, "chat", { message: "hi" })).result.structuredContent

        const tasks = { capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } }
        for (const id of [run.id, said.turnId, "run_nobodys"]) {
          for (const name of ["get_run", "cancel_run"]) {
            const { result } = yield* call(other.token, name, { runId: id })
            assert.deepStrictEqual([result.isError, result.content[0].text], [true, "run not found"])
          }
          for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
            const { error } = yield* ask(other.token, method, { taskId: id }, tasks)
            assert.deepStrictEqual([error.code, error.message], [-32602, "task not found"])
          }
          const listened = yield* ask(
            other.token,
            "subscriptions/listen",
            { notifications: { taskIds: [id] } },
            { ...tasks, id: 9 }
          )
          assert.deepStrictEqual(listened.messages[0].params.notifications, {})
          assert.lengthOf(listened.messages, 2)
        }
        for (const name of ["Mine", agentId]) {
          assert.strictEqual(
            (yield* call(other.token, name, { prompt: "x" })).error.message,
            `Unknown tool: ${name}`
          )
        }
        assert.lengthOf(namesOf(yield* ask(other.token, "tools/list")), own)
        assert.strictEqual((yield* call(other.token, "list_runs")).result.structuredContent.total, 0)
        for (const [name, args] of [
          ["send_task", { prompt: "x", agentId }],
          ["chat", { message: "x", conversationId: said.conversationId }],
          ["list_runs", { workspaceId: mine.workspaceId }],
          ["recall", { workspaceId: mine.workspaceId }]
        ] as const) {
          assert.isTrue((yield* call(other.token, name, args)).result.isError, name)
        }
        const foreign = { headers: { "x-workspace-id": mine.workspaceId } }
        assert.strictEqual((yield* ask(other.token, "tools/list", {}, foreign)).error.code, -32602)
        assert.isTrue((yield* call(other.token, "recall", {}, foreign)).result.isError)

        // The token of somebody who is in two workspaces.
        const second = yield* send("POST", "/api/workspaces", { token: mine.token, json: { name: "second" } })
        const secondId = (second.body as Message).data.id
        const both = yield* call(mine.token, "recall")
        assert.include(
          both.result.content[0].text,
          "workspaceId: is needed here (X-Workspace-Id: must name one of your workspaces"
        )
        assert.isFalse((yield* call(mine.token, "recall", { workspaceId: secondId })).result.isError)
        assert.lengthOf(namesOf(yield* ask(mine.token, "tools/list")), own)
        const pinned = { headers: { "x-workspace-id": secondId } }
        assert.lengthOf(namesOf(yield* ask(mine.token, "tools/list", {}, pinned)), own)
        assert.isTrue((yield* call(mine.token, "get_run", { runId: run.id }, pinned)).result.isError)
        assert.isTrue(
          (yield* call(mine.token, "recall", { workspaceId: mine.workspaceId }, pinned)).result.isError
        )
        const first = { headers: { "x-workspace-id": mine.workspaceId } }
        assert.lengthOf(namesOf(yield* ask(mine.token, "tools/list", {}, first)), own + 1)
      })
    )
  )
})
