import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type MemoryEntryId, UserId, type WorkspaceId } from "../../src/Schemas/Ids.ts"
import { MemoryRepo } from "../../src/Services/MemoryRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeWorkspace, newId } from "../support/Fixtures.ts"

const remember = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  key: string,
  value: string,
  second: number
) {
  const id = yield* newId<MemoryEntryId>("memoryEntry")
  const entry = {
    id,
    workspaceId,
    projectId: null,
    key,
    value,
    category: null,
    author: { userId: UserId.make("user_1") },
    at: at(second)
  }
  return yield* (yield* MemoryRepo).upsert(entry)
})

/** Nine million bytes, written after what is old: more than a search compares with its query. */
const fill = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const value = `thing common ${"x".repeat(99_900)}`
  for (let n = 0; n < 90; n++) yield* remember(workspaceId, `filler ${n}`, value, 1_000 + n)
})

const search = Effect.fnUntraced(function* (workspaceId: WorkspaceId, query: string) {
  const found = yield* (yield* MemoryRepo).search({ workspaceId, projectId: null, query, limit: 3 })
  return found.map(({ key }) => key)
})

export const suite = (it: It) =>
  describe("MemoryRepo, a large memory", () => {
    it.effect("is compared with a query from its latest end, and what is older if it has the words", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* remember(workspaceId, "prefs.colour", "My favourite: TEAL_blue, since 1999", 1)
        yield* remember(workspaceId, "far", `${"x ".repeat(4_100)} distant`, 2)
        yield* remember(workspaceId, "pair", "common thing", 3)
        yield* fill(workspaceId)
        yield* remember(workspaceId, "new", `${"x ".repeat(4_100)} nearby pineapple`, 2_000)
        yield* remember(yield* makeWorkspace, "elsewhere", "teal", 3_000)
        // Of the latest, any text.
        assert.deepStrictEqual(yield* search(workspaceId, "earby pine"), ["new"])
        assert.deepStrictEqual(yield* search(workspaceId, "FILLER 8"), [
          "filler 89",
          "filler 88",
          "filler 87"
        ])
        // Of the older, what has all its words, in whatever case, and contains it as it is.
        for (const query of ["teal", "favourite: Teal", "colour", "since 1999"]) {
          assert.deepStrictEqual(yield* search(workspaceId, query), ["prefs.colour"], query)
        }
        for (const query of ["prefs.col", "l_b", "blue teal", "teal 1999"]) {
          assert.deepStrictEqual(yield* search(workspaceId, query), [], query)
        }
        // Words are looked up in the beginning of a value.
        assert.deepStrictEqual(yield* search(workspaceId, "distant"), [])
        // Even of those that have the words, no more is compared than of the latest.
        assert.deepStrictEqual(yield* search(workspaceId, "common thing"), [])
        assert.deepStrictEqual(yield* search(workspaceId, "🚀"), [])
      })
    )

    it.effect("is compared whole with a query while it is no larger than that", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* remember(workspaceId, "far", `${"ü".repeat(50_000)} distant`, 1)
        for (let n = 0; n < 80; n++) yield* remember(workspaceId, `filler ${n}`, "x".repeat(100_000), 10 + n)
        assert.deepStrictEqual(yield* search(workspaceId, "DISTAN"), ["far"])
      })
    )
  })
