import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import {
  makeAccount,
  makeNodes,
  type Nodes,
  onDatabase,
  sleep,
  startModel,
  startTools
} from "../support/Durability.ts"
import { type EventReader, readEvents, textOf } from "../support/EventReader.ts"
import { emptyDatabase, hasPostgres, skipped } from "../support/Postgres.ts"
import {
  assertAnswered,
  assertClean,
  assertError,
  assertGrowing,
  closes,
  ends,
  named,
  report,
  says,
  statuses
} from "../support/TurnReaders.ts"
import { until } from "../support/Until.ts"

/** Long enough for a node that lives to renew it, however busy the machine is. */
const leaseMillis = 10_000

const name = "chat turns outlive their nodes"

describe.skipIf(!hasPostgres)(hasPostgres ? name : skipped(name), () => {
  const scope = Scope.makeUnsafe()
  let url: string
  let model: Awaited<ReturnType<typeof startModel>>
  let tools: Awaited<ReturnType<typeof startTools>>
  let nodes: Nodes
  let account: Awaited<ReturnType<typeof makeAccount>>
  let jobs = 0

  beforeAll(async () => {
    model = await startModel(50)
    tools = await startTools(50)
    url = await Effect.runPromise(Scope.provide(emptyDatabase, scope))
    nodes = makeNodes(url, (node) => model.env(node), {
      AGENTD_LEASE_SECONDS: String(leaseMillis / 1000),
      AGENTD_DRAIN_SECONDS: "1"
    })
    await Promise.all([nodes.start(0), nodes.start(1)])
    account = await makeAccount(url, nodes, tools.url)
  })
  afterAll(async () => {
    await nodes?.stopAll()
    model?.close()
    tools?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const baseUrl = (node: number) => nodes.server(node).baseUrl
  const asked = (job: number) => model.calls.filter((call) => call.job === job)
  const used = (job: number) => tools.uses.filter((use) => use.job === job)

  /** Sends a message as `job <n> <kind>`; resolves with the first event. */
  const send = async (node: number, kind: string, more: object = {}) => {
    const job = ++jobs
    const json = { workspaceId: account.workspaceId, content: `job ${job} ${kind}`, ...more }
    const reader = await readEvents(`${baseUrl(node)}/api/chat/messages`, account.token, { json })
    await until(() => reader.events.length > 0, "the first event")
    const { conversationId, turnId }: { conversationId: string; turnId: string } =
      reader.events[0]?.data ?? {}
    return { job, reader, conversationId, turnId }
  }
  const follow = (node: number, id: string, lastEventId?: number) =>
    readEvents(
      `${baseUrl(node)}/api/runs/${id}/events`,
      account.token,
      lastEventId === undefined ? {} : { lastEventId }
    )
  const replay = async (node: number, id: string) => {
    const reader = await follow(node, id)
    assert.strictEqual(await closes(reader), "whole")
    return reader.events
  }
  const messages = async (
    node: number,
    conversationId: string
  ): Promise<ReadonlyArray<{ readonly id: string; readonly role: string; readonly content: string }>> => {
    const found = await account.client(node).json("GET", `/api/chat/conversations/${conversationId}`)
    return found.data.messages
  }
  const assertBusy = async (node: number, conversationId: string) => {
    const { workspaceId } = account
    const json = { workspaceId, conversationId, content: "not yet" }
    const answer = await account.client(node).request("POST", "/api/chat/messages", json)
    assert.strictEqual(answer.status, 409)
    assert.strictEqual(answer.headers.get("x-error-code"), "conversation_busy")
    await answer.text()
  }
  const assertFree = async (node: number, conversationId: string, before: number) => {
    const { reader } = await send(node, "stream 3", { conversationId })
    assert.strictEqual(await closes(reader), "whole")
    assertClean(reader.events, [])
    assert.strictEqual((await messages(node, conversationId)).length, before + 2)
  }
  const question = async (reader: EventReader): Promise<{ approvalId: string; toolCallId: string }> => {
    await until(() => statuses(reader.events, "waiting_approval").length > 0, "it waits for a decision")
    return reader.events.at(-1)?.data
  }
  const decide = async (node: number, approvalId: string, decision = "approve") => {
    const answer = await account
      .client(node)
      .request("POST", `/api/approvals/${approvalId}`, { decision, reason: "because" })
    assert.strictEqual(answer.status, 200, await answer.text())
  }

  it("kill -9 in the middle of answers", async () => {
    model.hold()
    const turn = await send(0, "stream 50")
    const withTool = await send(0, "count stream 50")
    // These read on while their node dies.
    const [beside, besideTool] = [await follow(1, turn.turnId), await follow(1, withTool.turnId)]
    await assertBusy(0, turn.conversationId)
    await assertBusy(1, turn.conversationId)
    await Promise.all([says(turn.reader, 12), says(withTool.reader, 12)])
    assert.strictEqual(asked(turn.job)[0]?.node, 0)
    await nodes.kill(0)
    model.release()
    const killedAt = nodes.kills.at(-1)?.from ?? 0
    for (const { reader } of [turn, withTool]) {
      assert.strictEqual(await closes(reader), "broken")
      assert.deepStrictEqual(ends(reader.events), [])
    }
    await assertBusy(1, turn.conversationId)

    const rest = await follow(1, turn.turnId, turn.reader.lastId())
    const restOfTool = await follow(1, withTool.turnId, withTool.reader.lastId())
    await until(() => asked(turn.job).length === 2, "the other node has taken it up")
    const tookUp = (asked(turn.job)[1]?.at ?? 0) - killedAt
    assert.strictEqual(asked(turn.job)[1]?.node, 1)
    await until(() => rest.events.length > 0, "the reader is told")
    const toldAgain = (rest.events[0]?.at ?? 0) - killedAt
    await assertBusy(1, turn.conversationId)
    // Its lease may end later than the other's, and be taken over by a node that is there by then.
    await until(() => asked(withTool.job).length === 3, "the other node has taken it up as well")
    const restarted = nodes.start(0)
    for (const reader of [rest, restOfTool, beside, besideTool]) {
      assert.strictEqual(await closes(reader), "whole")
    }
    await restarted
    report(`kill -9 in mid-answer: asked again after ${tookUp} ms, the reader told after ${toldAgain} ms`)

    const message = assertAnswered([...turn.reader.events, ...rest.events])
    assert.strictEqual(rest.events[0]?.data.status, "thinking")
    assert.isAtLeast(rest.events[0]?.id ?? 0, 1_000_000)
    assert.deepStrictEqual(assertAnswered(beside.events), message)
    const second = asked(turn.job)[1]?.words.map(({ word }) => word) ?? []
    assert.strictEqual(message.content, second.join(""))
    assert.deepStrictEqual(assertClean(await replay(0, turn.turnId), []), message)
    const stored = await messages(1, turn.conversationId)
    assert.deepStrictEqual(
      stored.map(({ role }) => role),
      ["USER", "ASSISTANT"]
    )
    assert.deepStrictEqual(stored[1], message)
    await assertFree(0, turn.conversationId, 2)

    // The tool was done and journaled: neither it nor the answer that called it is repeated.
    const { job } = withTool
    assert.deepStrictEqual(
      asked(job).map(({ node, step }) => [node, step]),
      [
        [0, 0],
        [0, 1],
        [1, 1]
      ]
    )
    assert.strictEqual(used(job).length, 1)
    const replayed = await replay(1, withTool.turnId)
    const toolMessage = assertClean(replayed, [`call_${job}_0`])
    const result = named(replayed, "tool_result")[0]?.data
    assert.deepInclude(result, { isError: false })
    assert.deepStrictEqual(assertAnswered([...withTool.reader.events, ...restOfTool.events]), toolMessage)
    assert.deepStrictEqual(assertAnswered(besideTool.events), toolMessage)
    for (const events of [besideTool.events, [...withTool.reader.events, ...restOfTool.events]]) {
      assert.strictEqual(named(events, "tool_call").length, 1)
      assert.deepStrictEqual(
        named(events, "tool_result").map(({ data }) => data),
        [result]
      )
    }
    assert.deepStrictEqual((await messages(0, withTool.conversationId)).slice(1), [toolMessage])
  })

  it("a stream of a node that was frozen goes on with what its successor tells", async () => {
    model.hold()
    const turn = await send(0, "stream 40")
    await says(turn.reader, 8)
    void nodes.server(0).stop("SIGSTOP")
    model.release()
    await until(
      async () => (await messages(1, turn.conversationId)).length === 2,
      "the other node has stored the reply"
    )
    assert.strictEqual(turn.reader.ended(), undefined)
    void nodes.server(0).stop("SIGCONT")
    const at = Date.now()
    assert.strictEqual(await closes(turn.reader), "whole")
    report(`frozen in mid-answer: the stream ended ${Date.now() - at} ms after SIGCONT`)
    const message = assertAnswered(turn.reader.events)
    assert.deepStrictEqual(assertClean(await replay(0, turn.turnId), []), message)
    assert.deepStrictEqual((await messages(0, turn.conversationId)).slice(1), [message])
    assert.deepStrictEqual(
      asked(turn.job).map(({ node }) => node),
      [0, 1]
    )
    await assertFree(0, turn.conversationId, 2)
  })

  it("a decision on another node lets the same stream go on", async () => {
    const waits: Array<number> = []
    for (const decision of ["approve", "approve", "reject"]) {
      const turn = await send(0, "write stream 5", { autonomyLevel: "semi-autonomous" })
      const { approvalId, toolCallId } = await question(turn.reader)
      assert.strictEqual(toolCallId, `call_${turn.job}_0`)
      await sleep(300)
      assert.strictEqual(turn.reader.ended(), undefined)
      await assertBusy(1, turn.conversationId)
      assert.strictEqual(used(turn.job).length, 0)
      const before = turn.reader.events.length
      const at = Date.now()
      await decide(1, approvalId, decision)
      await until(() => turn.reader.events.length > before, "it goes on")
      waits.push((turn.reader.events[before]?.at ?? 0) - at)
      assert.strictEqual(await closes(turn.reader), "whole")
      const message = assertClean(turn.reader.events, [toolCallId])
      assert.strictEqual(used(turn.job).length, decision === "approve" ? 1 : 0)
      const [result] = named(turn.reader.events, "tool_result")
      assert.strictEqual(result?.data.isError, decision === "reject")
      assert.deepStrictEqual(
        asked(turn.job).map(({ step }) => step),
        [0, 1]
      )
      assert.deepStrictEqual((await messages(1, turn.conversationId)).slice(1), [message])
      const replayed = await replay(1, turn.turnId)
      assert.deepStrictEqual(assertClean(replayed, [toolCallId]), message)
    }
    report(`decided on the other node: the stream went on after ${waits.join(", ")} ms`)
  })

  it("a turn that waits outlives its client and all nodes", async () => {
    const left = await send(0, "write stream 5", { autonomyLevel: "semi-autonomous" })
    const first = await question(left.reader)
    left.reader.leave()
    const turn = await send(1, "write stream 5", { autonomyLevel: "supervised" })
    const second = await question(turn.reader)
    await decide(1, first.approvalId)
    await until(
      async () => (await messages(1, left.conversationId)).length === 2,
      "the reply is stored without a reader"
    )
    const message = assertClean(await replay(1, left.turnId), [`call_${left.job}_0`])
    assert.deepStrictEqual((await messages(0, left.conversationId)).slice(1), [message])

    await Promise.all([nodes.kill(0), nodes.kill(1)])
    assert.strictEqual(await closes(turn.reader), "broken")
    await Promise.all([nodes.start(0), nodes.start(1)])
    const rest = await follow(0, turn.turnId, turn.reader.lastId())
    await assertBusy(0, turn.conversationId)
    await sleep(300)
    assert.deepStrictEqual(rest.events, [])
    const at = Date.now()
    await decide(1, second.approvalId)
    assert.strictEqual(await closes(rest), "whole")
    report(`approved after kill -9 of both nodes: told after ${(rest.events[0]?.at ?? 0) - at} ms`)
    const events = [...turn.reader.events, ...rest.events]
    const answer = assertClean(events, [`call_${turn.job}_0`])
    assert.deepStrictEqual(
      events.map(({ id }) => id),
      events.map((_, index) => index + 1),
      "nothing was lost, so ids go on without a gap"
    )
    assert.deepStrictEqual((await messages(1, turn.conversationId)).slice(1), [answer])
    assert.strictEqual(used(turn.job).length, 1)
    assert.deepStrictEqual(
      asked(turn.job).map(({ step }) => step),
      [0, 1]
    )
  })

  it("events are followed live on another node", async () => {
    const turn = await send(0, "stream 40")
    const task = ++jobs
    const taskId = await account.submit(0, `job ${task} count stream 40`)
    const followers = [
      { job: turn.job, reader: await follow(1, turn.turnId) },
      { job: task, reader: await follow(1, taskId) }
    ]
    const delays: Array<number> = []
    for (const { job, reader } of followers) {
      assert.strictEqual(await closes(reader), "whole")
      assertGrowing(reader.events)
      assert.strictEqual(asked(job).at(-1)?.node, 0)
      const words = asked(job).at(-1)?.words ?? []
      assert.strictEqual(words.length, 40)
      const deltas = statuses(reader.events, "responding")
      for (const { at, word } of words) {
        const seen = deltas.find(({ data }) => data.delta.includes(word.trim()))
        assert.isDefined(seen, `${word} was not seen`)
        delays.push((seen?.at ?? 0) - at)
      }
    }
    const [ofTurn, ofTask] = followers.map(({ reader }) => reader.events)
    const message = assertClean(ofTurn ?? [], [])
    await closes(turn.reader)
    assert.deepStrictEqual(
      turn.reader.events.at(-1)?.data,
      { ...ofTurn?.at(-1)?.data, message },
      "both end the same"
    )
    const last = ofTask?.at(-1)
    assert.strictEqual(last?.event, "done")
    assert.strictEqual(last?.data.runId, taskId)
    assert.include(textOf(ofTask ?? []), last?.data.output)
    delays.sort((a, b) => a - b)
    const p50 = delays[Math.floor(delays.length / 2)] ?? 0
    const max = delays.at(-1) ?? 0
    report(`from the model to a follower on the other node: p50 ${p50} ms, max ${max} ms`)
  })

  it.each([
    { how: "deleting the conversation", method: "DELETE", code: "conversation_deleted" },
    { how: "cancelling the turn", method: "POST", code: "cancelled" }
  ])("$how on another node ends its streams", async ({ code, how, method }) => {
    model.hold()
    const turn = await send(0, "stream 10")
    const reader = await follow(1, turn.turnId)
    await says(turn.reader, 5)
    await says(reader, 5)
    const path =
      method === "DELETE"
        ? `/api/chat/conversations/${turn.conversationId}`
        : `/api/runs/${turn.turnId}/cancel`
    const at = Date.now()
    const answer = await account.client(1).request(method, path)
    assert.isTrue(answer.ok, await answer.text())
    for (const stream of [turn.reader, reader]) {
      assert.strictEqual(await closes(stream), "whole")
      assertError(stream.events, code)
    }
    const endedAfter = [turn.reader, reader].map(({ events }) => (events.at(-1)?.at ?? 0) - at)
    const [call] = asked(turn.job)
    await until(() => call?.brokenAt != null, "the provider was let go")
    model.release()
    const letGo = (call?.brokenAt ?? 0) - at
    report(
      `${how}: the streams ended after ${endedAfter.join(", ")} ms, the provider let go after ${letGo} ms`
    )
    if (code === "cancelled") {
      assert.deepStrictEqual(
        (await messages(0, turn.conversationId)).map(({ role }) => role),
        ["USER"]
      )
      assertError(await replay(0, turn.turnId), code)
      await assertFree(0, turn.conversationId, 1)
    } else {
      const gone = await account.client(0).request("GET", `/api/runs/${turn.turnId}/events`)
      assert.strictEqual(gone.status, 404)
      await gone.text()
      const left = await onDatabase(url, (sql) => sql`select 1 from run_events where run_id = ${turn.turnId}`)
      assert.deepStrictEqual(left, [])
    }
    assert.strictEqual(asked(turn.job).length, 1)
  })

  it("SIGTERM ends a stream with a word, and the other node goes on", async () => {
    model.hold()
    const turn = await send(0, "count stream 50")
    const other = await send(1, "stream 80")
    const visitor = await follow(0, other.turnId)
    await Promise.all([says(turn.reader, 8), says(visitor, 2)])
    const at = Date.now()
    const exit = nodes.server(0).stop("SIGTERM")
    assert.strictEqual(await closes(visitor), "whole")
    assertGrowing(visitor.events.slice(0, -1))
    assert.strictEqual(visitor.events.at(-1)?.data.code, "unavailable")
    const back = await follow(1, other.turnId, visitor.lastId())

    assert.strictEqual(await closes(turn.reader), "whole")
    const ended = turn.reader.events.at(-1)
    const endedAfter = (ended?.at ?? 0) - at
    assert.strictEqual(ended?.event, "error")
    assert.strictEqual(ended?.data.code, "unavailable")
    assert.isAtLeast(endedAfter, 900, "it was answered for as long as the drain lasts")
    const rest = await follow(1, turn.turnId, turn.reader.lastId())
    await until(() => asked(turn.job).length === 3, "the other node has taken it up")
    model.release()
    const tookUp = (asked(turn.job)[2]?.at ?? 0) - at
    assert.strictEqual(await exit, 0)
    report(
      `SIGTERM with 1 s to drain: the stream ended after ${endedAfter} ms, asked again after ${tookUp} ms`
    )
    assert.strictEqual(await closes(rest), "whole")
    const events = [...turn.reader.events.slice(0, -1), ...rest.events]
    const message = assertAnswered(events)
    assert.deepStrictEqual(
      asked(turn.job).map(({ node, step }) => [node, step]),
      [
        [0, 0],
        [0, 1],
        [1, 1]
      ]
    )
    assert.strictEqual(used(turn.job).length, 1)
    assert.deepStrictEqual(assertClean(await replay(1, turn.turnId), [`call_${turn.job}_0`]), message)
    assert.deepStrictEqual((await messages(1, turn.conversationId)).slice(1), [message])

    for (const reader of [back, other.reader]) assert.strictEqual(await closes(reader), "whole")
    assertClean([...visitor.events.slice(0, -1), ...back.events], [])
    assertClean(other.reader.events, [])
    assert.strictEqual(asked(other.job).length, 1)
  })
})
