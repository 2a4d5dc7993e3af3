import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Replicated } from "../../../src/Layers/Repo/Postgres/Replica.ts"
import type { ConversationId, MessageId, TokenId } from "../../../src/Schemas/Ids.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { audited } from "../../../src/Services/Audited.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { ProjectRepo } from "../../../src/Services/ProjectRepo.ts"
import { QuotaRepo } from "../../../src/Services/QuotaRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { layerNode } from "../../support/Backends.ts"
import * as EmbeddedCopy from "../../support/EmbeddedCopy.ts"
import { at, makeUser, makeWorkspace, newId, newProject, newRun } from "../../support/Fixtures.ts"

/** A node that is told who answers its reads: `stale` is what a replica says of all, where there is one. */
const makeNode = Effect.gen(function* () {
  const written: Array<string> = []
  const readOf: Array<string> = []
  const seen = { onWritten: Effect.void as Effect.Effect<void>, stale: undefined as unknown }
  const replica: Layer.Layer<never> = Layer.succeed(Replicated, {
    read: (of, effect) => {
      readOf.push(...[of].flat())
      return seen.stale === undefined ? effect : (Effect.succeed(seen.stale) as never)
    },
    written: (of) =>
      Effect.andThen(
        seen.onWritten,
        Effect.sync(() => void written.push(...of))
      )
  })
  const client = Layer.merge(EmbeddedCopy.layerClient, replica) as typeof EmbeddedCopy.layerClient
  const node = Effect.provideContext(yield* Layer.build(layerNode(client)))
  return { node, readOf, seen, written }
})

describe("what a replica does not have yet", () => {
  it.effect("is known again when the transaction that wrote it is over, however long it takes", () =>
    Effect.gen(function* () {
      const { node, written } = yield* makeNode
      yield* Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const { atomically } = yield* Transaction
        const projects = yield* ProjectRepo
        const project = yield* newProject(workspaceId)
        yield* atomically(
          Effect.gen(function* () {
            yield* projects.insert(project).pipe(audited("project.create", project))
            written.splice(0)
          })
        )
        assert.deepStrictEqual(written, [workspaceId, project.id])
      }).pipe(node)
    })
  )

  it.effect("are messages that the engine stores here", () =>
    Effect.gen(function* () {
      const { node, written } = yield* makeNode
      yield* Effect.gen(function* () {
        const id = yield* newId<ConversationId>("conversation")
        const message = { id: yield* newId<MessageId>("message"), content: "a", createdAt: at() }
        const conversations = yield* ConversationRepo
        yield* conversations.addReply(id, { ...message, role: "ASSISTANT" }, { parts: [], usage: noUsage })
        yield* conversations.addMessage(id, { ...message, role: "USER" })
        assert.deepStrictEqual(written, [id, id])
      }).pipe(node)
    })
  )

  it.effect("is counted of users, whose tokens are shown with a workspace", () =>
    Effect.gen(function* () {
      const { node, readOf, written } = yield* makeNode
      yield* Effect.gen(function* () {
        const user = yield* makeUser
        const workspaceId = yield* makeWorkspace
        const id = yield* newId<TokenId>("token")
        const of = { id, userId: user.id, parentId: null, name: "a token", hash: `hash of ${id}` }
        const token = { ...of, createdAt: at(), expiresAt: null, revokedAt: null }
        yield* (yield* TokenRepo).insert(token).pipe(audited("token.create", { userId: user.id }))
        assert.include(written, user.id)
        yield* (yield* QuotaRepo).count(workspaceId, user.id, at())
        assert.deepStrictEqual(readOf, [workspaceId, user.id])
      }).pipe(node)
    })
  )

  it.effect("is not told to be missing", () =>
    Effect.gen(function* () {
      const { node, readOf, seen } = yield* makeNode
      yield* Effect.gen(function* () {
        const user = yield* makeUser
        const workspaceId = yield* makeWorkspace
        const run = yield* newRun(workspaceId)
        yield* (yield* RunRepo).insert(run)
        seen.stale = Option.none()
        assert.isTrue(Option.isSome(yield* (yield* QuotaRepo).count(workspaceId, user.id, at())))
        seen.stale = { rows: [], isCut: false, raw: [], total: 0 }
        const after = { id: run.id, createdAt: null }
        readOf.splice(0)
        yield* (yield* RunRepo).list({ workspaceId, after, limit: 1, offset: 0 })
        // The page and the total: whether there is the run it was not asked.
        assert.deepStrictEqual(readOf, [workspaceId, workspaceId])
      }).pipe(node)
    })
  )
})
