import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { AgentId } from "../../../src/Schemas/Ids.ts"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { PutPolicy, ToolRule } from "../../../src/Schemas/Policy.ts"
import type { CreateTask } from "../../../src/Schemas/Run.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { Agents } from "../../../src/Services/Agents.ts"
import { Approvals } from "../../../src/Services/Approvals.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { Policies } from "../../../src/Services/Policies.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { makeConnector } from "../../contract/ConnectorRepo.ts"
import { isOver, isWaiting, untilRun } from "../../support/BoundCalls.ts"
import { collect } from "../../support/ChatEvents.ts"
import { startNode } from "../../support/Engine.ts"
import { listedTool, startScripted } from "../../support/Mcp.ts"
import { finish, layerScripted, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const layer = layerScripted({ allowPrivateAddresses: true })

const call = (name: string, id = "c1", given: object = {}): InferenceEvent => ({
  type: "tool_call",
  call: { id, name, arguments: given as never }
})
const remembering = (id = "c1") => call("remember", id, { key: "k", value: "v" })

/** A server with the tools `read` and `write`, which records what it is asked to call. */
const startServer = Effect.suspend(() => {
  const called: Array<string> = []
  return Effect.map(
    startScripted({
      tools: [listedTool("read", { annotations: { readOnlyHint: true } }), listedTool("write")],
      answer: ({ method, params }) => {
        if (method === "tools/call") called.push(params.name)
        return undefined
      }
    }),
    ({ url }) => ({ called, url })
  )
})

/** A tenant with an agent, whose model calls tools once and then says what came of it, and a server of tools. */
const makeSubject = Effect.gen(function* () {
  const tenant = yield* makeTenant()
  const { user, workspaceId } = tenant
  const model = yield* ScriptedModel
  const policies = yield* Policies
  const runs = yield* Runs
  const server = yield* startServer
  const docs = yield* makeConnector(workspaceId, { providerName: "docs", metadata: { url: server.url } })
  const agent = yield* (yield* Agents).create(user, { workspaceId, name: "a" })
  const calls = (...events: ReadonlyArray<InferenceEvent>) => {
    model.script = ({ messages }) =>
      Stream.fromIterable<InferenceEvent>(
        messages.at(-1)?.role === "tool" ? says("done") : [...events, finish]
      )
  }
  const setPolicy = (policy: PutPolicy) => policies.setOfAgent(user, agent.id, policy)
  const send = (given: Partial<CreateTask> = {}) =>
    Effect.map(
      runs.create(user, { workspaceId, prompt: "work", agentId: agent.id, ...given }),
      ({ id }) => id
    )
  const shown = () => model.requests.map(({ tools }) => tools.map(({ name }) => name))
  const results = () =>
    model.requests.flatMap(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === "tool" ? last.results.map(({ result }) => result) : []
    })
  return { ...tenant, ...server, agent, calls, docs, model, results, runs, send, setPolicy, shown }
})

const decide = Effect.fnUntraced(function* (
  { user, workspaceId }: Pick<Effect.Success<typeof makeSubject>, "user" | "workspaceId">,
  decision: "approve" | "reject" = "approve"
) {
  const approvals = yield* Approvals
  const waiting = yield* approvals.list(user, { workspaceId, limit: 9, offset: 0 })
  for (const { id } of waiting) yield* approvals.decide(user, id, { decision })
  return waiting.map(({ tool }) => tool)
})

describe("A policy of the agent", () => {
  it.effect("keeps a denied tool from the model and from its server, also where the model makes it up", () =>
    Effect.gen(function* () {
      const { called, calls, results, send, setPolicy, shown } = yield* makeSubject
      yield* startNode("a")
      yield* setPolicy({
        tools: [
          { match: "*", rule: "allow" },
          { match: "docs__w*", rule: "deny" },
          { match: "recall", rule: "deny" }
        ]
      })
      calls(call("docs__write", "c1"), call("recall", "c2"), call("docs__read", "c3"))
      const run = yield* untilRun(yield* send({ autonomyLevel: "autonomous" }), isOver)
      assert.strictEqual(run.status, "COMPLETED")
      const names = ["remember", "current_time", "docs__read"]
      assert.deepStrictEqual(shown(), [names, names])
      assert.deepStrictEqual(called, ["read"])
      const [written, recalled] = results()
      const there = "There are: current_time, docs__read, remember."
      assert.strictEqual(written, `There is no tool named docs__write. ${there}`)
      assert.strictEqual(recalled, `There is no tool named recall. ${there}`)
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps a denied tool from a chat turn", () =>
    Effect.gen(function* () {
      const { agent, called, calls, setPolicy, shown, user, workspaceId } = yield* makeSubject
      yield* setPolicy({ tools: [{ match: "docs__*", rule: "deny" }] })
      calls(call("docs__write"))
      const chat = yield* Chat
      const events = yield* collect(
        chat.send(user, { workspaceId, content: "hi", agentId: agent.id, autonomyLevel: "autonomous" })
      ).pipe(Effect.scoped)
      assert.strictEqual(events.at(-1)?.event, "done")
      for (const names of shown()) assert.deepStrictEqual(names, ["remember", "recall", "current_time"])
      assert.deepStrictEqual(called, [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("denies what an earlier step has named and people have approved", () =>
    Effect.gen(function* () {
      const subject = yield* makeSubject
      const { called, calls, results, send, setPolicy } = subject
      yield* setPolicy({ tools: [{ match: "other", rule: "deny" }] })
      calls(call("docs__write"))
      yield* startNode("a")
      const id = yield* send()
      const { policy } = yield* untilRun(id, isWaiting)
      // As if a version had asked the model that knows of no policies: what is stored in memory is this very object.
      const rules = policy?.tools as Array<ToolRule>
      rules.push({ match: "docs__write", rule: "deny" })
      assert.deepStrictEqual(yield* decide(subject), ["docs__write"])
      const run = yield* untilRun(id, isOver)
      assert.strictEqual(run.status, "COMPLETED")
      assert.deepStrictEqual(called, [])
      assert.match(String(results()[0]), /^There is no tool named docs__write\./u)
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks about what it says, also where the run is autonomous, and about built-in tools", () =>
    Effect.gen(function* () {
      const subject = yield* makeSubject
      const { called, calls, send, setPolicy } = subject
      yield* setPolicy({
        tools: [
          { match: "docs__read", rule: "ask" },
          { match: "remember", rule: "ask" }
        ]
      })
      calls(call("docs__read", "c1"), call("docs__write", "c2"), remembering("c3"))
      yield* startNode("a")
      const id = yield* send({ autonomyLevel: "autonomous" })
      yield* untilRun(id, isWaiting)
      assert.deepStrictEqual(called, ["write"])
      assert.sameMembers(yield* decide(subject), ["docs__read", "remember"])
      assert.strictEqual((yield* untilRun(id, isOver)).status, "COMPLETED")
      assert.deepStrictEqual(called, ["write", "read"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets what it allows be called unasked, however supervised the run is", () =>
    Effect.gen(function* () {
      const { called, calls, send, setPolicy } = yield* makeSubject
      yield* setPolicy({ autonomyLevel: "supervised", tools: [{ match: "*__write", rule: "allow" }] })
      calls(call("docs__write"))
      yield* startNode("a")
      const id = yield* send()
      const run = yield* untilRun(id, isOver)
      assert.deepInclude(run, { status: "COMPLETED", autonomyLevel: "supervised" })
      assert.deepStrictEqual(called, ["write"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("has a level of autonomy for what says none, and not for what does", () =>
    Effect.gen(function* () {
      const { calls, runs, send, setPolicy, user } = yield* makeSubject
      yield* setPolicy({ autonomyLevel: "supervised" })
      calls(remembering())
      yield* startNode("a")
      yield* untilRun(yield* send(), isWaiting)
      const id = yield* send({ autonomyLevel: "semi-autonomous" })
      yield* untilRun(id, isOver)
      assert.strictEqual((yield* runs.get(user, id)).autonomyLevel, "semi-autonomous")
    }).pipe(Effect.provide(layer))
  )

  it.effect("leaves a run the connectors that all have, and one that is deleted is simply not there", () =>
    Effect.gen(function* () {
      const { calls, docs, send, setPolicy, shown, url, workspaceId } = yield* makeSubject
      const other = yield* makeConnector(workspaceId, { providerName: "wiki", metadata: { url } })
      calls()
      yield* startNode("a")
      const builtin = ["remember", "recall", "current_time"]
      const table: ReadonlyArray<readonly [PutPolicy, Partial<CreateTask>, ReadonlyArray<string>]> = [
        [{}, {}, ["docs__read", "docs__write", "wiki__read", "wiki__write"]],
        [{ connectorIds: [docs.id] }, {}, ["docs__read", "docs__write"]],
        [{ connectorIds: [docs.id] }, { connectorIds: [docs.id, other.id] }, ["docs__read", "docs__write"]],
        [{ connectorIds: [docs.id] }, { connectorIds: [other.id] }, []],
        [{ connectorIds: [] }, {}, []]
      ]
      for (const [index, [policy, task, expected]] of table.entries()) {
        yield* setPolicy(policy)
        assert.strictEqual((yield* untilRun(yield* send(task), isOver)).status, "COMPLETED")
        assert.deepStrictEqual(shown()[index], [...builtin, ...expected], JSON.stringify([policy, task]))
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("ends a run that takes more steps", () =>
    Effect.gen(function* () {
      const { calls, runs, send, setPolicy, user } = yield* makeSubject
      yield* setPolicy({ maxSteps: 2 })
      calls(call("current_time"))
      yield* startNode("a")
      const id = yield* send()
      const run = yield* untilRun(id, isOver)
      assert.deepInclude(run, {
        status: "FAILED",
        errorCode: "steps_exceeded",
        error: "more than 2 steps"
      })
      assert.lengthOf((yield* runs.get(user, id)).steps, 2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("ends a run that works for longer, and lets none work for longer than the service does", () =>
    Effect.gen(function* () {
      const { model, send, setPolicy } = yield* makeSubject
      model.script = () => Stream.fromEffect(Effect.never)
      yield* startNode("a")
      for (const [maxSeconds, seconds] of [
        [5, 5],
        [null, 20]
      ] as const) {
        yield* setPolicy({ maxSeconds })
        const asked = model.requests.length
        const id = yield* send()
        while (model.requests.length === asked) yield* TestClock.adjust(0)
        yield* TestClock.adjust(seconds * 1000 - 1)
        assert.strictEqual((yield* untilRun(id, () => true)).status, "RUNNING")
        yield* TestClock.adjust(1)
        assert.deepInclude(yield* untilRun(id, isOver), {
          errorCode: "run_time_exceeded",
          error: `worked for longer than ${seconds} s`
        })
      }
    }).pipe(Effect.provide(layerScripted({ runMaxMillis: 20_000 })))
  )
})

describe("A policy that is changed", () => {
  it.effect(
    "changes nothing for a run that was made before, also on another node and after an approval",
    () =>
      Effect.gen(function* () {
        const subject = yield* makeSubject
        const { called, calls, send, setPolicy, shown } = subject
        yield* setPolicy({
          tools: [
            { match: "docs__read", rule: "deny" },
            { match: "docs__write", rule: "ask" }
          ]
        })
        calls(call("docs__write", "c1"), call("docs__read", "c2"))
        const first = yield* startNode("a")
        const id = yield* send({ autonomyLevel: "autonomous" })
        yield* untilRun(id, isWaiting)
        yield* setPolicy({
          tools: [
            { match: "docs__write", rule: "deny" },
            { match: "docs__read", rule: "allow" }
          ],
          connectorIds: [],
          maxSteps: 1
        })
        yield* first.stop
        yield* startNode("b")
        assert.deepStrictEqual(yield* decide(subject), ["docs__write"])
        assert.strictEqual((yield* untilRun(id, isOver)).status, "COMPLETED")
        assert.deepStrictEqual(called, ["write"])
        for (const names of shown()) {
          assert.deepStrictEqual(names, ["remember", "recall", "current_time", "docs__write"])
        }
        calls(call("docs__write"))
        assert.strictEqual((yield* untilRun(yield* send(), isOver)).errorCode, "steps_exceeded")
        assert.deepStrictEqual(shown().at(-1), ["remember", "recall", "current_time"])
        assert.deepStrictEqual(called, ["write"])
      }).pipe(Effect.provide(layer))
  )

  it.effect("is nothing to a run of a version before, which has none", () =>
    Effect.gen(function* () {
      const { agent, called, calls, send, setPolicy } = yield* makeSubject
      yield* setPolicy({ tools: [{ match: "*", rule: "allow" }] })
      calls(call("docs__write"))
      const id = yield* send({ agentId: null })
      const run = yield* untilRun(id, () => true)
      assert.isNull(run.policy)
      yield* startNode("a")
      yield* untilRun(id, isWaiting)
      assert.deepStrictEqual(called, [])
      assert.isNotNull((yield* untilRun(yield* send({ agentId: agent.id as AgentId }), isOver)).policy)
      assert.deepStrictEqual(called, ["write"])
      assert.deepStrictEqual(run.usage, noUsage)
    }).pipe(Effect.provide(layer))
  )
})
