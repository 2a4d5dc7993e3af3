import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import {
  defaultCategory,
  indexedLength,
  type MemoryDetail,
  type MemoryEntry,
  searchedBytes,
  searchedEntries,
  spaced,
  wordsOfQuery
} from "../../../Schemas/MemoryEntry.ts"
import { type MemoryFilter, MemoryRepo } from "../../../Services/MemoryRepo.ts"
import { inOrder } from "./Order.ts"
import { bytesOf, countAll, unlessFull } from "./Quotas.ts"
import * as Slices from "./Slices.ts"
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
        upsert: ({ at, category, ...given }, most) =>
          Effect.suspend(() => {
            const place = entryKey(given.workspaceId, given.projectId, given.key)
            const known = memoryEntries.get(place)
            const entry = {
              ...given,
              id: known?.id ?? given.id,
              category: category ?? known?.category ?? defaultCategory,
              createdAt: known?.createdAt ?? at,
              updatedAt: at
            }
            const write = () => {
              memoryEntries.set(place, entry)
              return toEntry(entry)
            }
            if (most === undefined) return Effect.sync(write)
            const used = countAll(tables, given.workspaceId, "", at)
            const plan = tables.workspaces.get(given.workspaceId)?.plan ?? "free"
            const entries = {
              used: used.memoryEntries,
              more: Number(known === undefined),
              plan,
              most: most.memoryEntries
            }
            const more = bytesOf(entry) - (known === undefined ? 0 : bytesOf(known))
            const bytes = { used: used.memoryBytes, more, plan, most: most.memoryBytes }
            return Effect.flatten(
              unlessFull("memoryEntries", entries, () => unlessFull("memoryBytes", bytes, write))
            )
          }),
        find: (id) =>
          Effect.sync(() =>
            Option.fromNullishOr(Array.from(memoryEntries.values()).find((entry) => entry.id === id))
          ),
        ...Slices.makePages(
          memoryEntries,
          toEntry,
          ({ category, key }, filter: MemoryFilter) =>
            (filter.category === undefined || category === filter.category) &&
            (filter.key === undefined || key === filter.key)
        ),
        remove: (id) =>
          Effect.sync(() => {
            const found = Array.from(memoryEntries).find(([, entry]) => entry.id === id)
            return found !== undefined && memoryEntries.delete(found[0])
          }),
        search: ({ limit, projectId, query, workspaceId }) =>
          Effect.sync(() => {
            const latest = Array.from(memoryEntries.values())
              .filter((entry) => entry.workspaceId === workspaceId)
              .filter((entry) => entry.projectId === null || entry.projectId === projectId)
              .sort(inOrder("updatedAt"))
              .reverse()
            return (query === undefined ? latest : found(latest, query)).slice(0, limit)
          })
      })
    )
  })
)

const toEntry = ({ author: _, ...entry }: MemoryDetail): MemoryEntry => entry

/** Those to compare, and of them those that contain the query. */
const found = (latest: ReadonlyArray<MemoryDetail>, query: string): ReadonlyArray<MemoryDetail> => {
  const words = wordsIn(wordsOfQuery(query))
  const compared = new Set(within(latest))
  for (const entry of within(latest.filter((entry) => hasWords(entry, words)))) compared.add(entry)
  const wanted = query.toLowerCase()
  return latest.filter(
    (entry) =>
      compared.has(entry) &&
      [entry.key, entry.value, entry.category].some((text) => text.toLowerCase().includes(wanted))
  )
}

const within = (latest: ReadonlyArray<MemoryDetail>): ReadonlyArray<MemoryDetail> => {
  let bytes = 0
  return latest.slice(0, searchedEntries).filter(({ category, key, value }) => {
    const before = bytes
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value) + Buffer.byteLength(category)
    return before < searchedBytes
  })
}

const wordsIn = (text: string): ReadonlyArray<string> =>
  text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

const hasWords = ({ category, key, value }: MemoryDetail, words: ReadonlyArray<string>): boolean => {
  const beginning = Array.from(value).slice(0, indexedLength).join("")
  const own = new Set(wordsIn(spaced(`${key} ${category} ${beginning}`)))
  return words.every((word) => own.has(word))
}
