import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import * as Repo from "../../../src/Layers/Repo.ts"
import * as Builtin from "../../../src/Layers/Tools/Builtin.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import { MemoryEntryId, RunId, UserId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { MemoryTooSlow } from "../../../src/Schemas/MemoryEntry.ts"
import { type Quotas, quotas } from "../../../src/Schemas/Quotas.ts"
import { Ids } from "../../../src/Services/Ids.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import { listed } from "../../support/Listed.ts"

const scope = {
  id: RunId.make("run_1"),
  workspaceId: WorkspaceId.make("ws_1"),
  projectId: null,
  connectorIds: null,
  policy: null
}

const layerMemory = (given: Quotas) =>
  Layer.mergeAll(Ids.layer, Repo.layerMemory).pipe(
    Layer.provideMerge(Layer.succeed(Settings, { ...Settings.defaults, quotas: given }))
  )

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
    Effect.provide([
      Ids.layer,
      Layer.mock(MemoryRepo, { search: () => Effect.fail(error) }),
      Layer.succeed(Settings, Settings.defaults)
    ])
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

describe("The built-in tools", () => {
  it.effect("are told in the same way to all, and each works where it was asked for", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* makeWorkspace, yield* makeWorkspace]
      const { tools } = yield* Builtin.make
      const [ofOne, ofOther] = [one, other].map((workspaceId) => tools({ ...scope, workspaceId }))
      for (const [n, { definition }] of ofOne?.entries() ?? [])
        assert.strictEqual(ofOther?.[n]?.definition, definition)
      yield* ofOther?.[0]?.call({ key: "city", value: "Bonn" }) ?? assert.fail()
      assert.deepStrictEqual(yield* ofOne?.[1]?.call({}) ?? assert.fail(), { entries: [] })
      const memory = yield* MemoryRepo
      assert.strictEqual((yield* listed(memory, { workspaceId: one })).length, 0)
      assert.strictEqual((yield* listed(memory, { workspaceId: other })).length, 1)
    }).pipe(Effect.provide(layerMemory(quotas)))
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
    }).pipe(Effect.provide(layerMemory(quotas)))
  )

  it.effect("tells the model which quota has no room, and stores nothing", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const { tools } = yield* Builtin.make
      const [remember] = tools({ ...scope, workspaceId })
      const call = (key: string, value: string) => remember?.call({ key, value }) ?? assert.fail()
      yield* call("a", "123")
      const memory = yield* MemoryRepo
      for (const [key, value, error] of [
        ["b", "", "memoryEntries: the free plan allows at most 1"],
        ["a", "12345", "memoryBytes: the free plan allows at most 4"]
      ] as const) {
        assert.deepInclude(yield* Effect.flip(call(key, value)), { _tag: "ToolError", error })
      }
      yield* call("a", "1234")
      const entries = yield* listed(memory, { workspaceId })
      assert.deepStrictEqual(
        entries.map(({ key, value }) => [key, value]),
        [["a", "1234"]]
      )
    }).pipe(
      Effect.provide(
        layerMemory({
          ...quotas,
          memoryEntries: { free: 1, pro: null },
          memoryBytes: { free: 4, pro: null }
        })
      )
    )
  )
})
