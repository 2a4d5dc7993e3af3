import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { CronJobId, MessageId, RunId } from "../../src/Schemas/Ids.ts"
import { quotas } from "../../src/Schemas/Quotas.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { at, makeConversation, newRun } from "../support/Fixtures.ts"
import { layerAtRest, makeTenant } from "../support/Service.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"

const most = quotas.pendingRuns.free
const sentence = "pendingRuns: the free plan allows at most 1000"

/** So many wait in the workspace, and nobody executes them. */
const fill = Effect.fnUntraced(function* (
  { user, workspaceId }: Effect.Success<ReturnType<typeof makeTenant>>,
  kind: "task" | "turn",
  count: number
) {
  const runs = yield* RunRepo
  const { id: conversationId } = yield* makeConversation(workspaceId, { ownerId: user.id })
  for (let n = 0; n < count; n++) {
    const id = `${kind}_${n}` as RunId
    const turn = kind === "task" ? null : { conversationId, replyId: `msg_${n}` as MessageId }
    yield* runs.insert(yield* newRun(workspaceId, { id, turn, createdAt: at(n) }))
  }
})

describe("pendingRuns", () => {
  it.effect("of a workspace bounds its waiting tasks and runs of jobs by hand, and chat goes on", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const tenant = yield* makeTenant()
      const { token, workspaceId } = tenant
      const job = dataOf<{ id: CronJobId }>(
        yield* send("POST", "/api/cron-jobs", {
          token,
          json: { workspaceId, name: "J", schedule: "0 0 * * *", timezone: "UTC", prompt: "work" }
        })
      )
      yield* fill(tenant, "task", most - 1)
      const task = () => send("POST", "/api/tasks", { token, json: { workspaceId, prompt: "work" } })
      assert.strictEqual((yield* task()).status, 201)
      for (const refused of [yield* task(), yield* send("POST", `/api/cron-jobs/${job.id}/run`, { token })]) {
        isError(refused, 403, "plan_limit_exceeded", sentence)
      }
      const listed = yield* send("GET", `/api/runs?workspaceId=${workspaceId}&limit=1`, { token })
      assert.strictEqual((listed.body as { total: number }).total, most)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("of a workspace bounds its waiting messages, before a stream opens, and stores nothing", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const tenant = yield* makeTenant()
      const { token, workspaceId } = tenant
      yield* fill(tenant, "turn", most)
      const refused = yield* send("POST", "/api/chat/messages", {
        token,
        json: { workspaceId, content: "hi" }
      })
      isError(refused, 403, "plan_limit_exceeded", sentence)
      const listed = yield* send("GET", `/api/chat/conversations?workspaceId=${workspaceId}`, { token })
      assert.strictEqual(dataOf<ReadonlyArray<unknown>>(listed).length, 1)
      const task = yield* send("POST", "/api/tasks", { token, json: { workspaceId, prompt: "work" } })
      assert.strictEqual(task.status, 201, "turns take the places of tasks")
    }).pipe(Effect.provide(layerAtRest()))
  )
})
