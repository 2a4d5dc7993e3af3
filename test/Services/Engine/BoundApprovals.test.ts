import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { ApprovalId } from "../../../src/Schemas/Ids.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { ApprovalRepo } from "../../../src/Services/ApprovalRepo.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { docsAt, isOver, isWaiting, startWriter, untilRun, writing } from "../../support/BoundCalls.ts"
import { chatEvent } from "../../support/ChatEvents.ts"
import { startNode } from "../../support/Engine.ts"
import { newId, newRun } from "../../support/Fixtures.ts"
import { layerScripted } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"

const layer = layerScripted({ allowPrivateAddresses: true })

/** A run that waits for approval of a call on this server. */
const waitingAt = Effect.fnUntraced(function* (server: Effect.Success<ReturnType<typeof startWriter>>) {
  const subject = yield* writing()
  const connector = yield* docsAt(subject.workspaceId, `${server.url}?key=canary`)
  yield* startNode("a")
  const { id } = yield* (yield* Runs).create(subject.user, {
    workspaceId: subject.workspaceId,
    prompt: "work"
  })
  yield* untilRun(id, isWaiting)
  return { ...subject, connector, id }
})

describe("An approval is of a connector's tool as it was", () => {
  it.effect("and says which that is, without secrets", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const { approve, connector, waiting } = yield* waitingAt(server)
      const shown = {
        tool: "docs__write",
        connector: { id: connector.id, name: "docs" },
        address: `${server.url}?key=…`,
        description: "writes",
        arguments: { text: "x" }
      }
      assert.deepInclude((yield* waiting)[0], shown)
      assert.deepInclude(yield* approve, { ...shown, status: "APPROVED" })
    }).pipe(Effect.provide(layer))
  )

  it.effect.each([
    ["is described otherwise", { description: "deletes" }],
    ["says otherwise what it does", { annotations: { destructiveHint: true } }]
  ] as const)("and nothing is called if it %s by now: the model is told", ([, by]) =>
    Effect.gen(function* () {
      const server = yield* startWriter({ annotations: { destructiveHint: false } })
      const { approve, id, results } = yield* waitingAt(server)
      Object.assign(server.state, by)
      yield* approve
      assert.strictEqual((yield* untilRun(id, isOver)).status, "COMPLETED")
      assert.strictEqual(server.calls(), 0)
      assert.match(String(results()[0]?.result), /changed since people were asked/u)
      assert.isTrue(results()[0]?.isError)
    }).pipe(Effect.provide(layer))
  )

  it.effect("and goes by its name alone where a version before this one has asked", () =>
    Effect.gen(function* () {
      const server = yield* startWriter()
      const { approve, user, waiting, workspaceId } = yield* writing()
      yield* docsAt(workspaceId, server.url)
      const run = yield* newRun(workspaceId)
      const execution = { id: run.id, worker: "before", epoch: 1 }
      const repo = yield* RunRepo
      yield* repo.insert(run, { worker: "before", leaseMillis: 60_000, perWorkspace: 8 })
      const call = { id: "c1", name: "docs__write", arguments: { text: "x", at: 1 } }
      yield* (yield* RunJournal).record(execution, 0, {
        type: "model",
        text: "",
        toolCalls: [call],
        usage: noUsage
      })
      yield* (yield* ApprovalRepo).park(execution, [
        {
          id: yield* newId<ApprovalId>("approval"),
          workspaceId,
          runId: run.id,
          toolCallId: call.id,
          tool: call.name,
          connector: null,
          address: null,
          description: null,
          arguments: call.arguments,
          fingerprint: createHash("sha256").update('["docs__write",{"at":1,"text":"x"}]').digest("hex"),
          status: "PENDING",
          reason: null,
          decidedBy: null,
          decidedAt: null,
          createdAt: new Date(0),
          expiresAt: new Date(1_000_000)
        }
      ])
      yield* startNode("a")
      assert.strictEqual((yield* waiting).length, 1)
      assert.deepInclude(yield* approve, { status: "APPROVED", decidedBy: user.id })
      assert.strictEqual((yield* untilRun(run.id, isOver)).status, "COMPLETED")
      assert.strictEqual(server.calls(), 1)
    }).pipe(Effect.provide(layer))
  )
})

describe("A turn whose connector can't be reached", () => {
  it.effect("says so before anything else, and goes on", () =>
    Effect.gen(function* () {
      const [up, down] = [yield* startWriter(), yield* startWriter()]
      const { model, user, workspaceId } = yield* writing()
      const { id } = yield* docsAt(workspaceId, down.url)
      yield* docsAt(workspaceId, up.url, 1)
      yield* down.stop
      const stream = yield* (yield* Chat).send(user, {
        workspaceId,
        content: "hi",
        autonomyLevel: "autonomous"
      })
      const events = (yield* Stream.runCollect(stream)).map(chatEvent)
      assert.strictEqual(events.at(-1)?.event, "done")
      const statuses = events.flatMap(({ data, event }) => (event === "status" ? [data] : []))
      assert.deepStrictEqual(statuses[0], {
        status: "thinking",
        unavailableConnectors: [{ id, name: "docs" }]
      })
      assert.isFalse(statuses.slice(1).some((status) => "unavailableConnectors" in status))
      assert.include(model.requests[0]?.system ?? "", '"docs"')
    }).pipe(Effect.provide(layer))
  )

  it.effect("when it was approved ends with a result that says that it was not made", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* startWriter(), yield* startWriter()]
      const { approve, results, user, waiting, workspaceId } = yield* writing()
      const { id } = yield* docsAt(workspaceId, first.url)
      yield* docsAt(workspaceId, second.url, 1)
      const stream = yield* (yield* Chat).send(user, { workspaceId, content: "hi" })
      const reading = yield* Effect.forkChild(Stream.runCollect(stream))
      yield* eventually(
        Effect.map(waiting, (found) => found.length > 0),
        "it waits"
      )
      yield* (yield* ConnectorRepo).remove(id)
      yield* approve
      const events = (yield* Fiber.join(reading)).map(chatEvent)
      assert.strictEqual(events.at(-1)?.event, "done")
      assert.deepStrictEqual([first.calls(), second.calls()], [0, 0])
      assert.match(String(results()[0]?.result), /^This call was approved, but it was not made: .*deleted$/u)
      assert.isTrue(results()[0]?.isError)
    }).pipe(Effect.provide(layer))
  )
})
