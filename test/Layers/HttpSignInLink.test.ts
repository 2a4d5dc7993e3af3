import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import type { AuditEntry } from "../../src/Schemas/Audit.ts"
import type { TokenId } from "../../src/Schemas/Ids.ts"
import { linkMillis } from "../../src/Schemas/Session.ts"
import { Accounts } from "../../src/Services/Accounts.ts"
import { Auth } from "../../src/Services/Auth.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

const sentence = "this sign-in link was used, is over or never was: ask for another one"

const subject = Effect.gen(function* () {
  const { send } = yield* makeWeb
  const auth = yield* Auth
  const tenant = yield* makeTenant()
  const code = Effect.map(auth.issueLink(tenant.user.id), ({ code }) => Redacted.value(code))
  const signIn = (code: unknown, headers: Readonly<Record<string, string>> = {}) =>
    send("POST", "/api/session/link", { json: { code }, headers })
  const ask = (cookie: string) => send("GET", "/api/session", { headers: { cookie } })
  return { ...tenant, ask, code, send, signIn }
})

const cookieOf = ({ headers }: Answer) => headers.getSetCookie()[0]?.split(";")[0] ?? ""

const isRefused = (answer: Answer) => {
  isError(answer, 401, "unauthenticated")
  assert.deepStrictEqual(answer.body, { error: sentence })
  assert.deepStrictEqual(answer.headers.getSetCookie(), [])
}

describe("A sign-in link", () => {
  it.effect("signs in once, as a session of 30 days that is of no token", () =>
    Effect.gen(function* () {
      const { ask, code, send, signIn, token, user } = yield* subject
      const given = yield* code
      const answer = yield* signIn(given)
      assert.strictEqual(answer.status, 201, answer.text)
      const session = dataOf<{ readonly expiresAt: string }>(answer)
      assert.deepInclude(answer.body, { data: { ...session, userId: user.id, email: user.email } })
      const cookie = cookieOf(answer)
      const [sent = ""] = answer.headers.getSetCookie()
      for (const attribute of ["Path=/", "HttpOnly", "SameSite=Lax"]) assert.include(sent, attribute)
      const { tokenId, ...asked } = dataOf<{ readonly tokenId: string }>(yield* ask(cookie))
      assert.deepStrictEqual(asked, session as never)
      isRefused(yield* signIn(given))
      const tokens = dataOf<ReadonlyArray<{ readonly id: string; readonly name: string }>>(
        yield* send("GET", "/api/tokens", { token })
      )
      assert.deepStrictEqual(
        tokens.map(({ name }) => name),
        ["test", "browser session"]
      )
      assert.strictEqual(tokenId, tokens[1]?.id)
      yield* send("DELETE", `/api/tokens/${tokens[0]?.id}`, { token })
      assert.strictEqual((yield* ask(cookie)).status, 200, "the token of the same user has made it not")
      yield* send("DELETE", "/api/session", { headers: { cookie } })
      assert.strictEqual((yield* ask(cookie)).status, 401)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("ends with its user, and is refused while that one is disabled", () =>
    Effect.gen(function* () {
      const { ask, code, signIn, user } = yield* subject
      const { execute } = yield* Accounts
      const [first, second] = [yield* code, yield* code]
      const cookie = cookieOf(yield* signIn(first))
      yield* execute({ command: "user disable", email: user.email })
      assert.strictEqual((yield* ask(cookie)).status, 401)
      isRefused(yield* signIn(second))
      yield* execute({ command: "user enable", email: user.email })
      assert.strictEqual((yield* ask(cookie)).status, 200)
      assert.strictEqual((yield* signIn(second)).status, 201)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is refused with one sentence, however wrong it is, and over after an hour", () =>
    Effect.gen(function* () {
      const { code, signIn, token } = yield* subject
      const given = yield* code
      for (const wrong of ["x", "x".repeat(43), token, given.toLowerCase(), `${given} `, `${given}x`]) {
        isRefused(yield* signIn(wrong))
      }
      for (const none of [undefined, null, 1, "", "x".repeat(1_001)]) {
        isError(yield* signIn(none), 400, "invalid_input")
      }
      yield* TestClock.adjust(linkMillis)
      isRefused(yield* signIn(given))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("signs one in of many who open it at the same time", () =>
    Effect.gen(function* () {
      const { code, signIn } = yield* subject
      const given = yield* code
      const answers = yield* Effect.replicateEffect(signIn(given), 12, { concurrency: "unbounded" })
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [201, ...Array(11).fill(401)])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is no page's of another origin, which would sign a browser in as somebody else", () =>
    Effect.gen(function* () {
      const { code, signIn } = yield* subject
      const given = yield* code
      const host = "agentd.test"
      isError(yield* signIn(given, { host, origin: "https://evil.example" }), 403, "forbidden")
      isError(yield* signIn(given, { host, "sec-fetch-site": "cross-site" }), 403, "forbidden")
      assert.strictEqual((yield* signIn(given, { host, origin: "http://agentd.test" })).status, 201)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("can be tried so often from one address", () =>
    Effect.gen(function* () {
      const { code, signIn } = yield* subject
      const given = yield* code
      const wrong = (n: number) => signIn(`${n}`.padEnd(43, "x"))
      for (let n = 0; n < 3; n++) isRefused(yield* wrong(n))
      isError(yield* wrong(4), 429, "rate_limited")
      isError(yield* signIn(given), 429, "rate_limited")
      yield* TestClock.adjust(60_000)
      assert.strictEqual((yield* signIn(given)).status, 201)
    }).pipe(Effect.provide(layerOffline({ anonymousPerMinute: 3 })))
  )

  it.effect("leaves in the audit log who has signed in, and by which request", () =>
    Effect.gen(function* () {
      const { code, send, signIn, token, user, workspaceId } = yield* subject
      const given = yield* code
      yield* signIn("x".repeat(43), { "x-request-id": "in-vain" })
      yield* signIn(given, { "x-request-id": "signed-in" })
      yield* signIn(given, { "x-request-id": "again" })
      const entries = dataOf<ReadonlyArray<AuditEntry>>(
        yield* send("GET", `/api/audit?workspaceId=${workspaceId}`, { token })
      ).filter(({ requestId }) => ["in-vain", "signed-in", "again"].includes(requestId ?? ""))
      const [entry, ...others] = entries
      assert.deepStrictEqual(others, [])
      assert.deepInclude(entry, { action: "session.start", requestId: "signed-in" })
      const tokenId = entry?.targetId as TokenId
      assert.deepStrictEqual(entry?.actor, { userId: user.id, tokenId })
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("GET /api/session", () => {
  it.effect("says whose token or session it is, and when that ends", () =>
    Effect.gen(function* () {
      const { ask, send, token, user } = yield* subject
      const own = yield* send("GET", "/api/session", { token })
      const tokens = dataOf(yield* send("GET", "/api/tokens", { token })) as ReadonlyArray<{ id: string }>
      assert.deepStrictEqual(dataOf(own), {
        userId: user.id,
        email: user.email,
        tokenId: tokens[0]?.id,
        expiresAt: null
      })
      const started = yield* send("POST", "/api/session", { token })
      const { tokenId, ...session } = dataOf(yield* ask(cookieOf(started))) as Record<string, unknown>
      assert.deepStrictEqual(session, dataOf(started))
      assert.notStrictEqual(tokenId, tokens[0]?.id)
      isError(yield* send("GET", "/api/session"), 401, "unauthenticated")
    }).pipe(Effect.provide(layerOffline()))
  )
})
