import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { Removal } from "../../../src/Schemas/Removal.ts"
import * as Removals from "../../../src/Services/Engine/Removals.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"

const agent: Removal = { kind: "agent", id: "agent_1" }
const key: Removal = { kind: "providerKey", id: "pkey_1" }

/** A store of removals with so many rows each, of which a batch takes a quarter of a millisecond per row. */
const makeStore = (rows: ReadonlyMap<Removal, number>) => {
  const left = new Map(rows)
  const batches: Array<{
    readonly from: number
    readonly to: number
    readonly limit: number
    readonly id: string
  }> = []
  const held = new Set<Removal>()
  const store = { left, batches, held, looks: 0, isAway: false }
  const away = new Unavailable({ error: "away" })
  const repo = RemovalRepo.of({
    pending: () =>
      Effect.suspend(() => {
        store.looks++
        return store.isAway ? Effect.fail(away) : Effect.succeed([...left.keys()])
      }),
    advance: (removal, limit) =>
      Effect.gen(function* () {
        if (store.isAway) return yield* away
        const from = yield* Clock.currentTimeMillis
        const count = held.has(removal) ? 0 : Math.min(left.get(removal) ?? 0, limit)
        yield* Effect.sleep(count / 4)
        batches.push({ from, to: yield* Clock.currentTimeMillis, limit, id: removal.id })
        if (held.has(removal)) return 0
        if (count === 0) left.delete(removal)
        else left.set(removal, (left.get(removal) ?? 0) - count)
        return count
      })
  })
  return { ...store, store, repo }
}

const starting = (repo: RemovalRepo["Service"]) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Removals.start.pipe(Effect.provideService(RemovalRepo, repo), Scope.provide(scope))
    return Scope.close(scope, Exit.void)
  })

describe("What was deleted", () => {
  it.effect("is let go of in batches of about 50 ms, with pauses as long between them", () =>
    Effect.gen(function* () {
      const { batches, left, repo } = makeStore(new Map([[agent, 60_000]]))
      yield* starting(repo)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(left.size, 0)
      for (const [index, { from, to }] of batches.entries()) {
        const next = batches[index + 1]
        assert.isAtMost(to - from, 60)
        if (next !== undefined) assert.isAtLeast(next.from - to, Math.max(20, Math.floor(to - from)))
      }
    })
  )

  it.effect("holds up nothing else where it can't be done in time, and is tried in smaller pieces", () =>
    Effect.gen(function* () {
      const { left, repo } = makeStore(
        new Map([
          [agent, 50],
          [key, 1_000]
        ])
      )
      const tried: Array<number> = []
      yield* starting({
        ...repo,
        advance: (removal, limit) => {
          if (removal !== agent || limit <= 10) return repo.advance(removal, limit)
          tried.push(limit)
          return new Unavailable({ error: "not in time" })
        }
      })
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual([left.has(agent), left.has(key)], [true, false])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(left.size, 0)
      assert.deepStrictEqual(tried.slice(0, 2), [100, 25])
    })
  )

  it.effect("costs one look every 5 s where there is nothing", () =>
    Effect.gen(function* () {
      const { batches, repo, store } = makeStore(new Map())
      yield* starting(repo)
      yield* TestClock.adjust("1 minute")
      assert.isAtMost(store.looks, 13)
      assert.isAtLeast(store.looks, 12)
      assert.deepStrictEqual(batches, [])
    })
  )

  it.effect("goes on where it was stopped, by another node, and after the store was away", () =>
    Effect.gen(function* () {
      const { left, repo, store } = makeStore(new Map([[agent, 10_000]]))
      const stop = yield* starting(repo)
      yield* TestClock.adjust("2 seconds")
      yield* stop
      const stopped = left.get(agent) ?? 0
      assert.isTrue(stopped > 0 && stopped < 10_000)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(left.get(agent), stopped)
      yield* starting(repo)
      yield* TestClock.adjust("1 second")
      store.isAway = true
      yield* TestClock.adjust("1 minute")
      assert.isAbove(left.get(agent) ?? 0, 0)
      store.isAway = false
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(left.size, 0)
    })
  )

  it.effect("is not held up by what others hold for long", () =>
    Effect.gen(function* () {
      const { held, left, repo } = makeStore(
        new Map([
          [agent, 10],
          [key, 10]
        ])
      )
      held.add(agent)
      yield* starting(repo)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...left.keys()], [agent])
      held.clear()
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(left.size, 0)
    })
  )
})
