import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import * as InMemory from "../../../src/Layers/Repo/InMemory.ts"
import { makeRemembered } from "../../../src/Layers/Repo/Remembered.ts"
import * as RightsLayer from "../../../src/Layers/Repo/Rights.ts"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { TokenId, UserId } from "../../../src/Schemas/Ids.ts"
import { Ids } from "../../../src/Services/Ids.ts"
import { Rights, rightsMillis } from "../../../src/Services/Rights.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Signals } from "../../../src/Services/Signals.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { layerNode } from "../../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"

/** How often the repositories beneath were asked; `held` is waited for behind each look at a token. */
class Looks extends Context.Service<
  Looks,
  { tokens: number; roles: number; held: Deferred.Deferred<void> | undefined }
>()("test/Looks") {}

const layerCounted = Layer.effectContext(
  Effect.gen(function* () {
    const looks = yield* Looks
    const tokens = yield* TokenRepo
    const workspaces = yield* WorkspaceRepo
    return Context.make(TokenRepo, {
      ...tokens,
      findOwned: (hash) =>
        Effect.tap(tokens.findOwned(hash), () => {
          looks.tokens++
          return looks.held === undefined ? Effect.void : Deferred.await(looks.held)
        })
    }).pipe(
      Context.add(WorkspaceRepo, {
        ...workspaces,
        role: (...of) =>
          Effect.suspend(() => {
            looks.roles++
            return workspaces.role(...of)
          })
      })
    )
  })
).pipe(
  Layer.provideMerge(Layer.sync(Looks, () => ({ tokens: 0, roles: 0, held: undefined }))),
  Layer.provideMerge(InMemory.layer)
)

const layer = Layer.fresh(
  RightsLayer.layer.pipe(
    Layer.provideMerge(layerCounted),
    Layer.provideMerge(Layer.merge(Layer.succeed(Settings, Settings.defaults), Ids.layer))
  )
)

const makeMember = Effect.gen(function* () {
  const user = yield* makeUser
  const workspaceId = yield* makeWorkspace
  yield* (yield* WorkspaceRepo).addMember(workspaceId, user.id, "member", at())
  const id = yield* newId<TokenId>("token")
  const of = { id, userId: user.id, parentId: null, name: "a token", hash: `hash of ${id}` }
  const token = { ...of, createdAt: at(), expiresAt: null, revokedAt: null }
  yield* (yield* TokenRepo).insert(token)
  return { token, user, workspaceId }
})

describe("Rights", () => {
  it.effect("are asked for once, and again when a second is over since they were", () =>
    Effect.gen(function* () {
      const [looks, rights] = [yield* Looks, yield* Rights]
      const { token, user, workspaceId } = yield* makeMember
      const look = Effect.all([rights.owned(token.hash), rights.role(workspaceId, user.id)])
      const first = yield* look
      yield* TestClock.adjust(rightsMillis - 1)
      assert.deepStrictEqual(yield* look, first)
      assert.deepInclude(looks, { tokens: 1, roles: 1 })
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* look, first)
      assert.deepInclude(looks, { tokens: 2, roles: 2 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("are not as old as the answer, but as the question", () =>
    Effect.gen(function* () {
      const [looks, rights] = [yield* Looks, yield* Rights]
      const { token } = yield* makeMember
      const held = yield* Deferred.make<void>()
      looks.held = held
      const slow = yield* Effect.forkChild(rights.owned(token.hash))
      yield* TestClock.adjust(rightsMillis)
      yield* Deferred.succeed(held, undefined)
      yield* Fiber.join(slow)
      yield* rights.owned(token.hash)
      assert.strictEqual(looks.tokens, 2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("that somebody does not have are looked for each time", () =>
    Effect.gen(function* () {
      const [looks, rights] = [yield* Looks, yield* Rights]
      const { user, workspaceId } = yield* makeMember
      const other = yield* makeWorkspace
      for (let n = 0; n < 2; n++) {
        assert.deepStrictEqual(yield* rights.owned("no such hash"), Option.none())
        assert.deepStrictEqual(yield* rights.role(other, user.id), Option.none())
      }
      assert.deepInclude(looks, { tokens: 2, roles: 2 })
      assert.deepStrictEqual(yield* rights.role(workspaceId, user.id), Option.some("member"))
    }).pipe(Effect.provide(layer))
  )

  it.effect("that were asked for before they ended are not remembered behind that", () =>
    Effect.gen(function* () {
      const [looks, rights, users] = [yield* Looks, yield* Rights, yield* UserRepo]
      const { token, user } = yield* makeMember
      const held = yield* Deferred.make<void>()
      looks.held = held
      const slow = yield* Effect.forkChild(rights.owned(token.hash))
      yield* eventually(
        Effect.sync(() => looks.tokens === 1),
        "it is asked for"
      )
      yield* users.setDisabled(user.id, at(1))
      yield* Deferred.succeed(held, undefined)
      assert.isTrue(Option.isSome(yield* Fiber.join(slow)))
      assert.deepStrictEqual(yield* rights.owned(token.hash), Option.none())
    }).pipe(Effect.provide(layer))
  )

  it.effect("are asked for again when another node says that they changed, those of that user alone", () =>
    Effect.gen(function* () {
      const [looks, rights, signals] = [yield* Looks, yield* Rights, yield* Signals]
      const [one, other] = [yield* makeMember, yield* makeMember]
      const look = Effect.all([rights.owned(one.token.hash), rights.owned(other.token.hash)])
      yield* look
      yield* signals.publish({ type: "rights", userId: one.user.id })
      yield* Effect.yieldNow
      yield* look
      assert.strictEqual(looks.tokens, 3)
    }).pipe(Effect.provide(layer))
  )

  it("remembers ten thousand, the latest", () => {
    const remembered = makeRemembered<number>()
    const keep = remembered.keeping(0)
    for (let n = 0; n <= 10_000; n++) keep(`key ${n}`, "user_a" as UserId, n)
    assert.strictEqual(remembered.size(), 10_000)
    assert.isUndefined(remembered.get("key 0", 0))
    assert.strictEqual(remembered.get("key 10000", 0), 10_000)
  })
})

const suite = () => {
  /** The clock stands still: nothing is forgotten for its age. */
  it.effect("rights that end on one node end on the other, whatever ends them", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      const [one, other] = yield* Effect.all([
        Layer.build(layerNode(Postgres.client(url))),
        Layer.build(layerNode(Postgres.client(url)))
      ])
      const [here, there] = [Effect.provideContext(one), Effect.provideContext(other)]
      const ends = {
        revoke: ({ id, userId }) =>
          Effect.flatMap(TokenRepo, (tokens) => Effect.asVoid(tokens.revoke(userId, id, at(1)))),
        removeOf: ({ userId }) => Effect.flatMap(TokenRepo, (tokens) => tokens.removeOf(userId)),
        setDisabled: ({ userId }) =>
          Effect.flatMap(UserRepo, (users) => Effect.asVoid(users.setDisabled(userId, at(1)))),
        remove: ({ userId }) =>
          Effect.flatMap(UserRepo, (users) => Effect.asVoid(users.remove(userId, at(1))))
      } as const satisfies Record<
        string,
        (token: { id: TokenId; userId: UserId }) => Effect.Effect<void, Unavailable, TokenRepo | UserRepo>
      >
      for (const [name, end] of Object.entries(ends)) {
        const { token } = yield* here(makeMember)
        const works = Effect.flatMap(Rights, (rights) => rights.owned(token.hash)).pipe(
          Effect.map((found) => Option.isSome(found) && found.value.token.revokedAt === null),
          there
        )
        assert.isTrue(yield* works)
        yield* here<void, Unavailable, TokenRepo | UserRepo>(end(token))
        yield* eventually(
          Effect.map(works, (is) => !is),
          `${name} is heard of`
        )
      }
      for (const change of ["owner", "out"] as const) {
        const { user, workspaceId } = yield* here(makeMember)
        const role = Effect.map(
          Effect.flatMap(Rights, (rights) => rights.role(workspaceId, user.id)),
          Option.getOrNull
        ).pipe(there)
        assert.strictEqual(yield* role, "member")
        yield* here(
          Effect.flatMap(WorkspaceRepo, (workspaces) =>
            change === "owner"
              ? Effect.asVoid(workspaces.addMember(workspaceId, user.id, "owner", at(1)))
              : Effect.asVoid(workspaces.removeMember(workspaceId, user.id))
          )
        )
        yield* eventually(
          Effect.map(role, (is) => is === (change === "owner" ? "owner" : null)),
          `${change} is heard of`
        )
      }
    })
  )
}

if (Postgres.hasPostgres) describe("Rights on two nodes", suite)
else describe.skip(Postgres.skipped("Rights on two nodes"), suite)
