import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { TokenId, UserId } from "../../../src/Schemas/Ids.ts"
import type { Token } from "../../../src/Schemas/Token.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { at, makeUser, newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, whileDone } from "./RunNodes.ts"

const insert = Effect.fnUntraced(function* (userId: UserId, parentId: TokenId | null) {
  const id = yield* newId<TokenId>("token")
  const token: Token = {
    id,
    userId,
    parentId,
    name: "t",
    hash: id,
    createdAt: at(),
    expiresAt: null,
    revokedAt: null
  }
  const inserted = (yield* TokenRepo).insert(token, { free: 99, pro: 99 })
  return (yield* inserted.pipe(Effect.catchTag("PlanLimitExceeded", Effect.die))) ? id : undefined
})

const revoke = (userId: UserId, id: TokenId) =>
  Effect.flatMap(TokenRepo, (tokens) => tokens.revoke(userId, id, at(1)))

const working = (userId: UserId) =>
  Effect.map(
    Effect.flatMap(TokenRepo, (tokens) => tokens.list(userId, at(2))),
    (found) => found.map(({ id }) => id)
  )

/** A token, and one that it made. */
const makeFamily = Effect.gen(function* () {
  const nodes = yield* makeNodes(2)
  const { id: userId } = yield* nodes.on(0, makeUser)
  const root = (yield* nodes.on(0, insert(userId, null))) ?? assert.fail()
  const child = (yield* nodes.on(0, insert(userId, root))) ?? assert.fail()
  return { child, nodes, root, userId }
})

/** Tokens that are revoked while they make others, on another node. */
const suite = () => {
  it.live.each(["root", "child"] as const)("what is being made is revoked with its %s", (which) =>
    Effect.gen(function* () {
      const { child, nodes, root, userId } = yield* makeFamily
      const late = revoke(userId, which === "root" ? root : child)
      const done = yield* whileDone(nodes, insert(userId, child), late)
      assert.isDefined(done.first)
      assert.deepStrictEqual(yield* nodes.on(0, working(userId)), which === "root" ? [] : [root])
    })
  )

  it.live.each(["root", "child"] as const)(
    "nothing is made by a token that is being revoked with its %s",
    (which) =>
      Effect.gen(function* () {
        const { child, nodes, root, userId } = yield* makeFamily
        const first = revoke(userId, which === "root" ? root : child)
        const done = yield* whileDone(nodes, first, insert(userId, child))
        assert.isUndefined(done.late)
        assert.deepStrictEqual(yield* nodes.on(0, working(userId)), which === "root" ? [] : [root])
      })
  )

  it.live("what is 5,000 generations away is revoked, too", () =>
    Effect.gen(function* () {
      const { nodes, root, userId } = yield* makeFamily
      const sql = yield* nodes.on(0, PgClient)
      yield* sql`
        insert into tokens (id, user_id, parent_id, name, hash, created_at)
        select 'far_' || n, ${userId}, case n when 1 then ${root} else 'far_' || n - 1 end, 't', 'far_' || n, now()
        from generate_series(1, 5000) n`
      yield* nodes.on(0, revoke(userId, root))
      assert.deepStrictEqual(yield* nodes.on(0, working(userId)), [])
    })
  )

  it.live("nothing works that was made while all made others, and the first was revoked", () =>
    Effect.gen(function* () {
      const { child, nodes, root, userId } = yield* makeFamily
      const made = [child]
      yield* nodes.together(60, (n) =>
        Effect.gen(function* () {
          if (n === 30 || n === 31) return yield* revoke(userId, n === 30 ? root : child)
          for (let generation = 0; generation < 5; generation++) {
            const id = yield* insert(userId, made[(n * 7 + generation) % made.length] ?? root)
            if (id !== undefined) made.push(id)
          }
        })
      )
      assert.isAbove(made.length, 1)
      assert.deepStrictEqual(yield* nodes.on(0, working(userId)), [])
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of tokens", suite)
else describe.skip(Postgres.skipped("Locks of tokens"), suite)
