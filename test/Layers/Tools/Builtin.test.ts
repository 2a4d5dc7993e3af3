import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import * as Repo from "../../../src/Layers/Repo.ts"
import * as Builtin from "../../../src/Layers/Tools/Builtin.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import { MemoryEntryId, RunId, UserId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { MemoryTooSlow } from "../../../src/Schemas/MemoryEntry.ts"
import { Ids } from "../../../src/Services/Ids.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"

const scope = {
  id: RunId.make("run_1"),
  workspaceId: WorkspaceId.make("ws_1"),
  projectId: null,
  connectorIds: null
}

const tool = Effect.fnUntraced(function* (name: string) {
  const { tools } = yield* Builtin.make
  const found = tools(scope).find(({ definition }) => definition.name === name)
  return found ?? assert.fail(`there is no ${name}`)
})

/** `recall` over a memory whose search ends so. */
const recall = (error: MemoryTooSlow | Unavailable) =>
  Effect.gen(function* () {
    const { call } = yield* tool("recall")
    return yield* Effect.flip(call({ query: "x" }))
  }).pipe(
    Effect.provide(Layer.merge(Ids.layer, Layer.mock(MemoryRepo, { search: () => Effect.fail(error) })))
  )

describe("recall", () => {
  it.effect("tells the model of a search that took too long, and waits for a store that is away", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* recall(new MemoryTooSlow()), {
        _tag: "ToolError",
        error: "the memory could not be searched in time; ask for something else"
      })
      const away = new Unavailable({ error: "away" })
      assert.strictEqual(yield* recall(away), away)
    })
  )
})

describe("remember", () => {
  it.effect("keeps which run wrote an entry, and recall says it", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const { tools } = yield* Builtin.make
      const [remember, recall] = tools({ ...scope, workspaceId })
      yield* TestClock.setTime(1_000)
      yield* remember?.call({ key: "city", value: "Bonn" }) ?? assert.fail()
      const memory = yield* MemoryRepo
      const author = { userId: UserId.make("user_1") }
      const at = new Date(0)
      const given = { workspaceId, projectId: null, value: "Rome", category: null, author, at }
      yield* memory.upsert({ ...given, id: MemoryEntryId.make("mem_1"), key: "other" })
      const found = (yield* recall?.call({}) ?? assert.fail()) as { readonly entries: ReadonlyArray<object> }
      assert.deepStrictEqual(
        found.entries.map((entry) => ("author" in entry ? entry.author : undefined)),
        [{ runId: scope.id }, author]
      )
    }).pipe(
      Effect.provide(
        Layer.merge(
          Ids.layer,
          Repo.layerMemory.pipe(Layer.provide(Layer.succeed(Settings, Settings.defaults)))
        )
      )
    )
  )
})
