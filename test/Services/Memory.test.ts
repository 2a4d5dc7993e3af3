import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { Forbidden, NotFound } from "../../src/Schemas/Errors.ts"
import type { MemoryEntryId, ProjectId } from "../../src/Schemas/Ids.ts"
import { Memory } from "../../src/Services/Memory.ts"
import { makeProject } from "../support/Fixtures.ts"
import { listedFor } from "../support/Listed.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"

describe("Memory", () => {
  it.effect("makes an entry in the general category, and writes it again in its place", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000)
      const memory = yield* Memory
      const { user, workspaceId } = yield* makeTenant()
      const first = yield* memory.upsert(user, { workspaceId, key: "k", value: "" })
      assert.deepStrictEqual(first, {
        id: first.id,
        workspaceId,
        projectId: null,
        key: "k",
        value: "",
        category: "general",
        createdAt: new Date(1_000),
        updatedAt: new Date(1_000)
      })
      yield* TestClock.setTime(2_000)
      const moved = yield* memory.upsert(user, { workspaceId, key: "k", value: "v", category: "facts" })
      assert.deepStrictEqual(moved, { ...first, value: "v", category: "facts", updatedAt: new Date(2_000) })
      const kept = yield* memory.upsert(user, { workspaceId, key: "k", value: "w", category: null })
      assert.deepStrictEqual(kept, { ...moved, value: "w" })
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId }), [kept])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lists by project, category and key", () =>
    Effect.gen(function* () {
      const memory = yield* Memory
      const { user, workspaceId } = yield* makeTenant()
      const projectId = (yield* makeProject(workspaceId)).id
      const whole = yield* memory.upsert(user, { workspaceId, key: "k", value: "1" })
      const part = yield* memory.upsert(user, { workspaceId, projectId, key: "k", value: "2" })
      const facts = yield* memory.upsert(user, {
        workspaceId,
        projectId,
        key: "f",
        value: "3",
        category: "c"
      })
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId }), [whole, part, facts])
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId, projectId }), [part, facts])
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId, key: "k" }), [whole, part])
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId, category: "c" }), [facts])
      assert.deepStrictEqual(
        yield* listedFor(memory, user, { workspaceId, projectId, category: "c", key: "k" }),
        []
      )
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("searches as agents recall: of the project and the workspace, the latest written first", () =>
    Effect.gen(function* () {
      const memory = yield* Memory
      const { user, workspaceId } = yield* makeTenant()
      const project = yield* makeProject(workspaceId)
      yield* memory.upsert(user, { workspaceId, key: "colour", value: "Green" })
      yield* memory.upsert(user, { workspaceId, projectId: project.id, key: "shade", value: "dark green" })
      const keys = (filter: object) =>
        Effect.map(memory.search(user, { workspaceId, limit: 50, ...filter }), (found) =>
          found.map(({ key }) => key)
        )
      assert.deepStrictEqual(yield* keys({ projectId: project.id, query: "green" }), ["shade", "colour"])
      assert.deepStrictEqual(yield* keys({ projectId: project.id, limit: 1 }), ["shade"])
      assert.deepStrictEqual(yield* keys({ query: "green" }), ["colour"])
      assert.deepStrictEqual(yield* keys({ query: "red" }), [])
      const { user: stranger } = yield* makeTenant()
      const refused = yield* Effect.flip(memory.search(stranger, { workspaceId, limit: 1 }))
      assert.instanceOf(refused, Forbidden)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("says which user wrote an entry", () =>
    Effect.gen(function* () {
      const memory = yield* Memory
      const { user, workspaceId } = yield* makeTenant()
      const entry = yield* memory.upsert(user, { workspaceId, key: "k", value: "v" })
      assert.deepStrictEqual(yield* memory.get(user, entry.id), { ...entry, author: { userId: user.id } })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("removes an entry once", () =>
    Effect.gen(function* () {
      const memory = yield* Memory
      const { user, workspaceId } = yield* makeTenant()
      const { id } = yield* memory.upsert(user, { workspaceId, key: "k", value: "v" })
      yield* memory.remove(user, id)
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId }), [])
      const error = yield* Effect.flip(memory.remove(user, id))
      assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "memory entry not found"])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("shows a stranger nothing, and takes no foreign project", () =>
    Effect.gen(function* () {
      const memory = yield* Memory
      const { user, workspaceId } = yield* makeTenant()
      const { user: stranger, workspaceId: elsewhere } = yield* makeTenant()
      const given = { workspaceId, key: "k", value: "v" }
      const entry = yield* memory.upsert(user, given)
      assert.instanceOf(yield* Effect.flip(memory.upsert(stranger, given)), Forbidden)
      assert.instanceOf(yield* Effect.flip(listedFor(memory, stranger, { workspaceId })), Forbidden)
      const foreign = yield* Effect.flip(memory.remove(stranger, entry.id))
      const absent = yield* Effect.flip(memory.remove(stranger, "mem_absent" as MemoryEntryId))
      const unseen = yield* Effect.flip(memory.get(stranger, entry.id))
      assert.instanceOf(foreign, NotFound)
      assert.deepStrictEqual(unseen, foreign)
      assert.strictEqual(foreign.error, absent.error)
      assert.deepStrictEqual(yield* listedFor(memory, user, { workspaceId }), [entry])
      const sentence = "projectId: does not exist in this workspace"
      for (const projectId of [(yield* makeProject(elsewhere)).id, "proj_absent" as ProjectId]) {
        const written = yield* Effect.flip(memory.upsert(user, { ...given, projectId }))
        const listed = yield* Effect.flip(listedFor(memory, user, { workspaceId, projectId }))
        assert.deepStrictEqual([written.error, listed.error], [sentence, sentence])
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
