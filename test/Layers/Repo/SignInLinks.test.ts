import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TokenId } from "../../../src/Schemas/Ids.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { at, makeUser, newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, whileDone } from "./RunNodes.ts"

const subject = Effect.gen(function* () {
  const nodes = yield* makeNodes(2)
  const user = yield* nodes.on(0, makeUser)
  const hash = `link of ${user.id}`
  const link = { hash, userId: user.id, createdAt: at(), expiresAt: at(100) }
  yield* nodes.on(
    0,
    Effect.flatMap(TokenRepo, (tokens) => tokens.insertLink(link))
  )
  const signIn = Effect.gen(function* () {
    const id = yield* newId<TokenId>("token")
    const of = { id, userId: user.id, parentId: null, name: "browser session", hash: `hash of ${id}` }
    const token = { ...of, createdAt: at(), expiresAt: null, revokedAt: null }
    return (yield* (yield* TokenRepo).insertByLink(token, hash)) ? token : undefined
  })
  const isKept = (hash: string) =>
    Effect.map(
      Effect.flatMap(TokenRepo, (tokens) => tokens.findByHash(hash)),
      Option.isSome
    )
  return { isKept, nodes, signIn }
})

const suite = () => {
  it.live("signs in on the node that was first, while the other waits for it", () =>
    Effect.gen(function* () {
      const { isKept, nodes, signIn } = yield* subject
      const { first, late } = yield* whileDone(nodes, signIn, signIn)
      assert.isUndefined(late)
      assert.isTrue(yield* nodes.on(1, isKept(first?.hash ?? "")))
    })
  )

  it.live("signs in on one of two nodes that are asked often at the same time", () =>
    Effect.gen(function* () {
      const { nodes, signIn } = yield* subject
      const made = yield* nodes.together(16, () => signIn)
      assert.lengthOf(
        made.filter((token) => token !== undefined),
        1
      )
    })
  )
}

const name = "A sign-in link on two nodes"
if (Postgres.hasPostgres) describe(name, suite)
else describe.skip(Postgres.skipped(name), suite)
