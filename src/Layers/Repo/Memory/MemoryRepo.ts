import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { defaultCategory } from "../../../Schemas/MemoryEntry.ts"
import { MemoryRepo } from "../../../Services/MemoryRepo.ts"
import { inOrder } from "./Order.ts"
import { Store } from "./Store.ts"

const entryKey = (workspaceId: string, projectId: string | null, key: string) =>
  JSON.stringify([workspaceId, projectId, key])

export const layer = Layer.effect(
  MemoryRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { memoryEntries } = tables
    return guard(
      MemoryRepo.of({
        upsert: ({ at, category, ...given }) =>
          Effect.sync(() => {
            const place = entryKey(given.workspaceId, given.projectId, given.key)
            const known = memoryEntries.get(place)
            const entry = {
              ...given,
              id: known?.id ?? given.id,
              category: category ?? known?.category ?? defaultCategory,
              createdAt: known?.createdAt ?? at,
              updatedAt: at
            }
            memoryEntries.set(place, entry)
            return entry
          }),
        search: ({ limit, projectId, query, workspaceId }) =>
          Effect.sync(() => {
            const wanted = query?.toLowerCase()
            return Array.from(memoryEntries.values())
              .filter((entry) => entry.workspaceId === workspaceId)
              .filter((entry) => entry.projectId === null || entry.projectId === projectId)
              .filter(
                ({ category, key, value }) =>
                  wanted === undefined ||
                  [key, value, category].some((text) => text.toLowerCase().includes(wanted))
              )
              .sort(inOrder("updatedAt"))
              .reverse()
              .slice(0, limit)
          })
      })
    )
  })
)
