import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { AccountCommand, Listed } from "../../src/Schemas/Account.ts"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import { Accounts } from "../../src/Services/Accounts.ts"
import { Auth } from "../../src/Services/Auth.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { IdempotencyRepo } from "../../src/Services/IdempotencyRepo.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { Tokens } from "../../src/Services/Tokens.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { makeConversation } from "../support/Fixtures.ts"
import { layerAtRest } from "../support/Service.ts"

const execute = (command: AccountCommand) => Effect.flatMap(Accounts, (accounts) => accounts.execute(command))
const refusal = (command: AccountCommand) => Effect.map(Effect.flip(execute(command)), ({ error }) => error)
const list = (command: AccountCommand) => Effect.map(execute(command), (result) => result as Listed)

const makeUser = Effect.fnUntraced(function* (email: string, workspace: WorkspaceId | null = null) {
  return (yield* execute({ command: "user create", email, workspace })) as {
    readonly userId: never
    readonly email: string
    readonly token: string
  }
})

const makeWorkspace = Effect.fnUntraced(function* (owner: string, name = "w") {
  const made = yield* execute({ command: "workspace create", name, owner, plan: "free" })
  return "workspaceId" in made ? made.workspaceId : yield* Effect.die("no workspace was made")
})

const isLetIn = (token: string) =>
  Effect.flatMap(Auth, (auth) => auth.authenticate(Redacted.make(token))).pipe(
    Effect.as(true),
    Effect.catchTag("Unauthenticated", () => Effect.succeed(false))
  )

describe("the lists of an operator", () => {
  it.effect("show a part, say whether there is more, and go on behind it", () =>
    Effect.gen(function* () {
      const emails = ["a", "b", "c"].map((name) => `${name}@example.org`)
      yield* Effect.forEach(emails, (email) => makeUser(email))
      const first = yield* list({ command: "user list", after: null, limit: 2 })
      assert.isTrue(first.more)
      const last = first.items[1]
      const after = last !== undefined && "disabledAt" in last ? last.userId : ""
      const second = yield* list({ command: "user list", after, limit: 2 })
      assert.isFalse(second.more)
      const found = [...first.items, ...second.items]
      assert.deepStrictEqual(
        found.map((item) => ("email" in item ? item.email : "")),
        emails
      )
      assert.deepStrictEqual(Object.keys(found[0] ?? {}), ["userId", "email", "createdAt", "disabledAt"])
      assert.isFalse((yield* list({ command: "user list", after: null, limit: 3 })).more)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("show tokens and workspaces of one user or of all, and no secret", () =>
    Effect.gen(function* () {
      const ann = yield* makeUser("ann@example.org")
      yield* makeUser("bob@example.org")
      const workspaceId = yield* makeWorkspace("ann@example.org", "Research")
      yield* makeWorkspace("bob@example.org")
      const all = { email: null, after: null, limit: 9 }
      const tokens = yield* list({ command: "token list", ...all, email: "Ann@example.org" })
      assert.strictEqual(tokens.items.length, 1)
      assert.deepInclude(tokens.items[0], {
        name: "first",
        userId: ann.userId,
        email: ann.email,
        expiresAt: null
      })
      assert.deepStrictEqual(Object.keys(tokens.items[0] ?? {}).sort(), [
        ...["createdAt", "email", "expiresAt", "name", "tokenId", "userId"]
      ])
      assert.strictEqual((yield* list({ command: "token list", ...all })).items.length, 2)
      const workspaces = yield* list({ command: "workspace list", ...all, email: ann.email })
      assert.deepInclude(workspaces.items[0], { workspaceId, name: "Research", plan: "free" })
      assert.strictEqual(workspaces.items.length, 1)
      assert.strictEqual((yield* list({ command: "workspace list", ...all })).items.length, 2)
      assert.strictEqual(
        yield* refusal({ command: "token list", ...all, email: "eve@example.org" }),
        "there is no user eve@example.org"
      )
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("the tokens that an operator makes", () => {
  it.effect("are told apart by their names from sessions and others, and end for themselves", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const email = "ann@example.org"
      const first = yield* execute({ command: "bootstrap", email, baseUrl: "http://localhost" })
      const second = yield* execute({ command: "token create", email, expiresInDays: 1 })
      const secrets = [first, second].flatMap((made) => ("token" in made ? [made.token] : []))
      const [caller] = yield* Effect.forEach(secrets, (secret) =>
        Effect.flatMap(Auth, (auth) => auth.authenticate(Redacted.make(secret)))
      )
      if (caller === undefined) return assert.fail()
      yield* tokens.startSession(caller)
      yield* tokens.create(caller, { name: "laptop" })
      const names = ["bootstrap", "command line", "browser session", "laptop"]
      assert.deepStrictEqual(
        (yield* tokens.list(caller)).map(({ name }) => name),
        names
      )
      const listed = yield* list({ command: "token list", email: null, after: null, limit: 9 })
      assert.deepStrictEqual(
        listed.items.map((item) => ("tokenId" in item ? item.name : "")),
        names
      )
      yield* execute({ command: "token revoke", token: caller.token.id })
      assert.deepStrictEqual(
        (yield* tokens.list(caller)).map(({ name }) => name),
        ["command line"]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("the link that an operator makes", () => {
  it.effect("leads to the console of an address with a code that signs the user in", () =>
    Effect.gen(function* () {
      const { email, userId } = yield* makeUser("ann@example.org")
      const made = yield* execute({ command: "sign-in link", email, baseUrl: "https://agentd.test/" })
      if (!("url" in made)) return assert.fail()
      const [, code = ""] = /^https:\/\/agentd\.test\/#\/sign-in\/([\w-]{43})$/u.exec(made.url) ?? []
      const user = yield* (yield* Auth).linked(Redacted.make(code))
      assert.deepStrictEqual([user.id, user.email, made.userId], [userId, made.email, userId])
      assert.strictEqual(
        yield* refusal({ command: "sign-in link", email: "eve@example.org", baseUrl: "http://x" }),
        "there is no user eve@example.org"
      )
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("what an operator takes away", () => {
  it.effect("a disabled user is not let in with any token, and is again when enabled", () =>
    Effect.gen(function* () {
      const { email, token } = yield* makeUser("ann@example.org")
      const bob = yield* makeUser("bob@example.org")
      const disabled = yield* execute({ command: "user disable", email })
      assert.isNotNull("disabledAt" in disabled ? disabled.disabledAt : null)
      assert.isFalse(yield* isLetIn(token))
      assert.isTrue(yield* isLetIn(bob.token))
      const enabled = yield* execute({ command: "user enable", email })
      assert.deepInclude(enabled, { email, disabledAt: null })
      assert.isTrue(yield* isLetIn(token))
      assert.strictEqual(
        yield* refusal({ command: "user disable", email: "eve@example.org" }),
        "there is no user eve@example.org"
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("a revoked token lets nobody in, however often it is revoked", () =>
    Effect.gen(function* () {
      const { email, token } = yield* makeUser("ann@example.org")
      const [found] = (yield* list({ command: "token list", email, after: null, limit: 1 })).items
      const id = found !== undefined && "tokenId" in found ? found.tokenId : yield* Effect.die("no token")
      for (let time = 0; time < 2; time++) {
        const revoked = yield* execute({ command: "token revoke", token: id })
        assert.deepInclude(revoked, { tokenId: id, name: "first", email })
        assert.isFalse(yield* isLetIn(token))
      }
      assert.strictEqual(
        yield* refusal({ command: "token revoke", token: "token_none" as never }),
        "there is no token token_none"
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("a user who is the only owner of a workspace stays, with all there is", () =>
    Effect.gen(function* () {
      const { email, token } = yield* makeUser("ann@example.org")
      const ids = yield* Effect.replicateEffect(makeWorkspace(email), 12)
      const sentence = yield* refusal({ command: "user delete", email })
      assert.strictEqual(
        sentence,
        `ann@example.org is the only owner of ${ids.slice(0, 10).join(", ")} and more: make somebody else an ` +
          "owner first (`workspace member <workspace> --email … --role owner`)"
      )
      assert.isTrue(yield* isLetIn(token))
      const all = yield* list({ command: "workspace list", email, after: null, limit: 100 })
      assert.strictEqual(all.items.length, 12)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect(
    "a user who is gone leaves conversations, an e-mail that is free, and workspaces with owners",
    () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaces = yield* WorkspaceRepo
        const ann = yield* makeUser("ann@example.org")
        const bob = yield* makeUser("bob@example.org")
        const workspaceId = yield* makeWorkspace(ann.email)
        const conversation = yield* makeConversation(workspaceId, { ownerId: ann.userId })
        const member = { command: "workspace member", workspace: workspaceId, email: bob.email } as const
        yield* execute({ ...member, role: "owner" })
        const keys = yield* IdempotencyRepo
        for (const { userId } of [ann, bob]) {
          const key = {
            id: userId,
            userId,
            request: "r",
            answer: "{}",
            sealed: null,
            turnId: null,
            workspaceId: null
          }
          yield* keys.insert(key, 3_600_000)
        }
        assert.deepInclude(yield* execute({ command: "user delete", email: ann.email }), {
          userId: ann.userId,
          email: ann.email
        })
        assert.isFalse(yield* isLetIn(ann.token))
        assert.isTrue(yield* isLetIn(bob.token))
        assert.deepStrictEqual(
          (yield* workspaces.members(workspaceId)).map(({ userId }) => userId),
          [bob.userId]
        )
        assert.deepStrictEqual(yield* workspaces.list(ann.userId), [])
        assert.deepStrictEqual(yield* (yield* TokenRepo).list(ann.userId, new Date(0)), [])
        assert.isTrue(Option.isNone(yield* keys.find(ann.userId)))
        assert.isTrue(Option.isSome(yield* keys.find(bob.userId)))
        const kept = yield* conversations.list({ workspaceId, limit: 9, offset: 0 })
        assert.deepStrictEqual(
          kept.map(({ id }) => id),
          [conversation.id]
        )
        assert.strictEqual(
          yield* refusal({ command: "user delete", email: ann.email }),
          "there is no user ann@example.org"
        )
        assert.notStrictEqual((yield* makeUser(ann.email)).userId, ann.userId)
        assert.strictEqual(yield* refusal({ ...member, role: "member" }), "a workspace must keep an owner")
      }).pipe(Effect.provide(layerAtRest()))
  )
})
