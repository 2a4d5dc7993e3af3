import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
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
        find: (id) =>
          Effect.sync(() =>
            Option.fromNullishOr(Array.from(memoryEntries.values()).find((entry) => entry.id === id))
          ),
        list: ({ category, key, projectId, workspaceId }) =>
          Effect.sync(() =>
            Array.from(memoryEntries.values())
              .filter((entry) => entry.workspaceId === workspaceId)
              .filter((entry) => projectId === undefined || entry.projectId === projectId)
              .filter((entry) => category === undefined || entry.category === category)
              .filter((entry) => key === undefined || entry.key === key)
              .sort(inOrder("createdAt"))
          ),
        remove: (id) =>
          Effect.sync(() => {
            const found = Array.from(memoryEntries).find(([, entry]) => entry.id === id)
            return found !== undefined && memoryEntries.delete(found[0])
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
