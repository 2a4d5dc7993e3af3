import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type MemoryEntryId, RunId, UserId, type WorkspaceId } from "../../src/Schemas/Ids.ts"
import { MemoryRepo } from "../../src/Services/MemoryRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeProject, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"

type Upsert = Parameters<MemoryRepo["Service"]["upsert"]>[0]

const author = { userId: UserId.make("user_1") }

export const remember = Effect.fnUntraced(function* (workspaceId: WorkspaceId, given: Partial<Upsert> = {}) {
  const id = yield* newId<MemoryEntryId>("memoryEntry")
  return yield* (yield* MemoryRepo).upsert({
    id,
    workspaceId,
    projectId: null,
    key: "key",
    value: "value",
    category: null,
    author,
    at: at(),
    ...given
  })
})

const searchKeys = Effect.fnUntraced(function* (workspaceId: WorkspaceId, query?: string) {
  const found = yield* (yield* MemoryRepo).search({ workspaceId, projectId: null, query, limit: 100 })
  return found.map(({ key }) => key)
})

export const suite = (it: It) =>
  describe("MemoryRepo", () => {
    it.effect("makes a new entry in the general category", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const id = yield* newId<MemoryEntryId>("memoryEntry")
        const entry = yield* remember(workspaceId, { id, key: unicode, value: unicode })
        assert.deepStrictEqual(entry, {
          id,
          workspaceId,
          projectId: null,
          key: unicode,
          value: unicode,
          category: "general",
          createdAt: at(),
          updatedAt: at()
        })
        assert.deepStrictEqual(yield* memory.search({ workspaceId, projectId: null, limit: 9 }), [
          { ...entry, author }
        ])
      })
    )

    it.effect("keeps id, createdAt and category of an entry that is written again", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const first = yield* remember(workspaceId, { category: "facts" })
        const second = yield* remember(workspaceId, { value: "new", at: at(5) })
        assert.deepStrictEqual(second, { ...first, value: "new", updatedAt: at(5) })
        const third = yield* remember(workspaceId, { value: "newest", category: "notes", at: at(6) })
        assert.deepStrictEqual(third, { ...second, value: "newest", category: "notes", updatedAt: at(6) })
        assert.deepStrictEqual(yield* memory.search({ workspaceId, projectId: null, limit: 9 }), [
          { ...third, author }
        ])
      })
    )

    it.effect("knows who wrote an entry last, and shows it where it is asked for", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const { id } = yield* remember(workspaceId)
        assert.deepStrictEqual(Option.getOrThrow(yield* memory.find(id)).author, author)
        const run = { runId: RunId.make("run_1") }
        const entry = yield* remember(workspaceId, { value: "of a run", author: run })
        assert.deepStrictEqual(yield* memory.find(id), Option.some({ ...entry, author: run }))
        const found = yield* memory.search({ workspaceId, projectId: null, query: "run", limit: 9 })
        assert.deepStrictEqual(found, [{ ...entry, author: run }])
        assert.deepStrictEqual(yield* listed(memory, { workspaceId }), [entry])
      })
    )

    it.effect("keeps one key apart per project and per workspace", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
        const whole = yield* remember(workspaceId, { value: "whole", at: at(1) })
        const ofOne = yield* remember(workspaceId, { projectId: one.id, value: "one", at: at(2) })
        yield* remember(workspaceId, { projectId: two.id, value: "two", at: at(3) })
        yield* remember(yield* makeWorkspace, { value: "elsewhere", at: at(4) })
        assert.deepStrictEqual(yield* memory.search({ workspaceId, projectId: one.id, limit: 9 }), [
          { ...ofOne, author },
          { ...whole, author }
        ])
        assert.deepStrictEqual(yield* memory.search({ workspaceId, projectId: null, limit: 9 }), [
          { ...whole, author }
        ])
      })
    )

    it.effect.each(["without a project", "in a project"])("leaves one row of 50 writes at once %s", (kind) =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const projectId = kind === "in a project" ? (yield* makeProject(workspaceId)).id : null
        const written = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, n) => n),
          (n) => remember(workspaceId, { projectId, value: `value ${n}`, at: at(n) }),
          { concurrency: "unbounded" }
        )
        const found = yield* memory.search({ workspaceId, projectId, limit: 100 })
        assert.strictEqual(found.length, 1)
        assert.deepStrictEqual(new Set(written.map(({ id }) => id)), new Set([found[0]?.id]))
        assert.strictEqual(new Set(written.map(({ createdAt }) => createdAt.getTime())).size, 1)
      })
    )

    it.effect("finds the latest written first, those of one moment by id, up to the limit", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        yield* remember(workspaceId, { key: "old", at: at(1) })
        yield* remember(workspaceId, { key: "tie 1", at: at(2) })
        yield* remember(workspaceId, { key: "tie 2", at: at(2) })
        yield* remember(workspaceId, { key: "older", at: at() })
        yield* remember(workspaceId, { key: "old", value: "again", at: at(3) })
        assert.deepStrictEqual(yield* searchKeys(workspaceId), ["old", "tie 2", "tie 1", "older"])
        const two = yield* memory.search({ workspaceId, projectId: null, limit: 2 })
        assert.deepStrictEqual(
          two.map(({ key }) => key),
          ["old", "tie 2"]
        )
      })
    )

    it.effect("finds a query in key, value or category, in any case, also beyond ASCII", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* remember(workspaceId, { key: "Ökonomie", at: at(3) })
        yield* remember(workspaceId, { key: "b", value: "uses ÖKONOMIE 🚀", at: at(2) })
        yield* remember(workspaceId, { key: "c", category: "ökonomie", at: at(1) })
        yield* remember(workspaceId, { key: "d" })
        assert.deepStrictEqual(yield* searchKeys(workspaceId, "öKONomie"), ["Ökonomie", "b", "c"])
        assert.deepStrictEqual(yield* searchKeys(workspaceId, "🚀"), ["b"])
        assert.deepStrictEqual(yield* searchKeys(workspaceId, "nowhere"), [])
      })
    )

    it.effect("takes the signs of patterns as they are", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* remember(workspaceId, { key: "100% _ \\ .*", at: at(1) })
        yield* remember(workspaceId, { key: "1000 x" })
        for (const query of ["0%", "_", "\\", ".*"]) {
          assert.deepStrictEqual(yield* searchKeys(workspaceId, query), ["100% _ \\ .*"], query)
        }
      })
    )

    it.effect("finds no query that begins in one field and ends in the next", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        yield* remember(workspaceId, { key: "alpha", value: "beta", category: "gamma" })
        assert.deepStrictEqual(yield* searchKeys(workspaceId, "alpha beta"), [])
        assert.deepStrictEqual(yield* searchKeys(workspaceId, "a b"), [])
      })
    )

    it.effect("finds an entry by its id, in its latest form, and none where there is none", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const first = yield* remember(workspaceId, { key: unicode })
        yield* remember(workspaceId, { key: "other" })
        assert.deepStrictEqual(yield* memory.find(first.id), Option.some({ ...first, author }))
        const again = yield* remember(workspaceId, { key: unicode, value: "new", at: at(5) })
        assert.deepStrictEqual(yield* memory.find(first.id), Option.some({ ...again, author }))
        const id = yield* newId<MemoryEntryId>("memoryEntry")
        assert.deepStrictEqual(yield* memory.find(id), Option.none())
      })
    )

    it.effect("lists those of every project and of none, oldest first, those of one moment by id", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        assert.deepStrictEqual(yield* listed(memory, { workspaceId }), [])
        const projectId = (yield* makeProject(workspaceId)).id
        const young = yield* remember(workspaceId, { key: "a", at: at(2) })
        const twin = yield* remember(workspaceId, { projectId, key: "a", at: at(2) })
        const old = yield* remember(workspaceId, { projectId, key: "b", at: at(1) })
        yield* remember(yield* makeWorkspace)
        assert.deepStrictEqual(yield* listed(memory, { workspaceId }), [old, young, twin])
        const again = yield* remember(workspaceId, { projectId, key: "b", at: at(9) })
        assert.deepStrictEqual(yield* listed(memory, { workspaceId }), [again, young, twin])
      })
    )

    it.effect("lists by project, category and key as they are written, alone and together", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const projectId = (yield* makeProject(workspaceId)).id
        const [category, key] = ["Fácts_%", unicode]
        const plain = yield* remember(workspaceId, { key: "plain" })
        const ofProject = yield* remember(workspaceId, { projectId, key: "plain" })
        const ofCategory = yield* remember(workspaceId, { category, key: "c" })
        const ofKey = yield* remember(workspaceId, { key })
        const all = yield* remember(workspaceId, { projectId, category, key })
        yield* remember(yield* makeWorkspace, { category, key })
        const list = (filter: object) => listed(memory, { workspaceId, ...filter })
        assert.deepStrictEqual(yield* list({ projectId }), [ofProject, all])
        assert.deepStrictEqual(yield* list({ category }), [ofCategory, all])
        assert.deepStrictEqual(yield* list({ key }), [ofKey, all])
        assert.deepStrictEqual(yield* list({ projectId, category, key }), [all])
        assert.deepStrictEqual(yield* list({ category: category.toLowerCase() }), [])
        assert.deepStrictEqual(yield* list({ key: "pl%" }), [])
        assert.deepStrictEqual(yield* list({ projectId: undefined, category: undefined, key: undefined }), [
          plain,
          ofProject,
          ofCategory,
          ofKey,
          all
        ])
      })
    )

    it.effect("removes one entry alone, once; its key is free then", () =>
      Effect.gen(function* () {
        const memory = yield* MemoryRepo
        const workspaceId = yield* makeWorkspace
        const gone = yield* remember(workspaceId, { category: "facts" })
        const kept = yield* remember(workspaceId, { key: "other" })
        assert.isTrue(yield* memory.remove(gone.id))
        assert.isFalse(yield* memory.remove(gone.id))
        assert.deepStrictEqual(yield* memory.find(gone.id), Option.none())
        assert.deepStrictEqual(yield* listed(memory, { workspaceId }), [kept])
        const anew = yield* remember(workspaceId, { at: at(5) })
        assert.notStrictEqual(anew.id, gone.id)
        assert.deepStrictEqual([anew.category, anew.createdAt], ["general", at(5)])
      })
    )
  })
