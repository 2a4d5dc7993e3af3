import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Builtin from "../../../src/Layers/Tools/Builtin.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { MemoryTooSlow } from "../../../src/Schemas/MemoryEntry.ts"
import { Ids } from "../../../src/Services/Ids.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"

/** `recall` over a memory whose search ends so. */
const recall = (error: MemoryTooSlow | Unavailable) =>
  Effect.gen(function* () {
    const { tools } = yield* Builtin.make
    const scope = { workspaceId: "ws_1" as WorkspaceId, projectId: null, connectorIds: null }
    const tool = tools(scope).find(({ definition }) => definition.name === "recall")
    if (tool === undefined) return assert.fail("there is no recall")
    return yield* Effect.flip(tool.call({ query: "x" }))
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
