import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { Auth } from "../../src/Services/Auth.ts"
import { now } from "../../src/Services/CurrentTime.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { mcp } from "../support/Faces.ts"
import {
  isByLink,
  isOfEnded,
  makeWorld,
  type Operation,
  operations,
  requestOf
} from "../support/Operations.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import type { Answer } from "../support/Web.ts"

/** What an owner alone may do (CONTRACT.md section 8), and what a conversation's own user may. */
const ownerAlone: ReadonlySet<string> = new Set([
  "audit.list",
  "chat.remove",
  "cronJobs.takeOver",
  "openAi.deleteResponse",
  "providerKeys.create",
  "providerKeys.update",
  "providerKeys.remove",
  "webhooks.list",
  "webhooks.create",
  "webhooks.get",
  "webhooks.update",
  "webhooks.remove",
  "webhooks.rotateSecret",
  "webhooks.test",
  "webhooks.deliveries",
  "webhooks.redeliver",
  "workspaces.putBudget",
  "workspaces.addMember",
  "workspaces.removeMember",
  "workspaces.update"
])

/** Fields that an owner alone may set, of what members may send as well. */
const ownersFields: Readonly<Record<string, string>> = {
  "agents.create": "body providerKeyId",
  "agents.update": "body providerKeyId"
}

/** What is of the caller alone: others don't see that it is there, whoever they are in the workspace. */
const ofTheCaller: ReadonlySet<string> = new Set(["tokens.remove"])

type Refusal = readonly [status: number, code: string]
const unauthenticated: Refusal = [401, "unauthenticated"]
const forbidden: Refusal = [403, "forbidden"]
const notFound: Refusal = [404, "not_found"]

const isOpen = ({ id }: Operation) => id.startsWith("system.")
/** Whoever asks, and with whatever credential: its code is of no link. */
const byLink = (who: string): Refusal =>
  who === "an owner's cookie on a page of somebody else" ? forbidden : unauthenticated
const refusedCredential = (operation: Operation) => (isOpen(operation) ? undefined : unauthenticated)

const outside = (operation: Operation): Refusal | undefined => {
  if (operation.ids.some((field) => /^(query|body) workspaceId$|^header /.test(field))) return forbidden
  return operation.ids.some((field) => field.startsWith("path ")) ? notFound : undefined
}

const inside = (operation: Operation): Refusal | undefined => {
  if (ofTheCaller.has(operation.id)) return notFound
  return ownerAlone.has(operation.id) ? forbidden : undefined
}

/** What an endpoint refuses a role with; nothing where it has to do what it is asked. */
type Refuses = (operation: Operation) => Refusal | undefined

const roles = {
  nobody: refusedCredential,
  "a made up token": refusedCredential,
  "a revoked token": refusedCredential,
  "a token that is over": refusedCredential,
  "a disabled member": refusedCredential,
  "a wrong token beside an owner's cookie": refusedCredential,
  "an owner's cookie on a page of somebody else": (operation) =>
    isOpen(operation) || operation.method === "GET" ? undefined : forbidden,
  "an owner of another workspace": outside,
  "a former member": outside,
  "a member": inside,
  "a member by cookie": inside,
  "an owner": () => undefined,
  "an owner by cookie": () => undefined
} as const satisfies Readonly<Record<string, Refuses>>
type Role = keyof typeof roles
const refusalOf = (who: Role, operation: Operation): Refusal | undefined =>
  isByLink(operation) ? byLink(who) : roles[who](operation)
const everyRole = Object.keys(roles) as ReadonlyArray<Role>

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const cookie = (token: string) => ({ cookie: `session=${token}`, host: "agentd.test" })

const makeRoles = Effect.gen(function* () {
  const auth = yield* Auth
  const users = yield* UserRepo
  const workspaces = yield* WorkspaceRepo
  const world = yield* makeWorld
  const { mine } = world

  const issue = (userId: typeof mine.user.id, expiresAt: Date | null = null) =>
    Effect.map(auth.issue({ userId, name: "test", expiresAt }), ({ secret }) => Redacted.value(secret))
  const join = Effect.fnUntraced(function* () {
    const tenant = yield* makeTenant()
    yield* workspaces.addMember(mine.workspaceId, tenant.user.id, "member", yield* now)
    return tenant
  })

  const member = yield* join()
  const other = yield* join()
  const former = yield* join()
  yield* workspaces.removeMember(mine.workspaceId, former.user.id)
  const disabled = yield* join()
  yield* users.setDisabled(disabled.user.id, yield* now)
  const revoked = yield* issue(mine.user.id)
  yield* auth.revoke(mine.user.id, Redacted.make(revoked))
  const expired = yield* issue(mine.user.id, new Date((yield* Clock.currentTimeMillis) + 1))
  yield* TestClock.adjust(1)

  const headers: Readonly<Record<Role, Readonly<Record<string, string>>>> = {
    nobody: {},
    "a made up token": bearer(`agentd_${"x".repeat(43)}`),
    "a revoked token": bearer(revoked),
    "a token that is over": bearer(expired),
    "a disabled member": bearer(disabled.token),
    "a wrong token beside an owner's cookie": { ...cookie(mine.token), ...bearer("wrong") },
    "an owner's cookie on a page of somebody else": { ...cookie(mine.token), origin: "http://evil.example" },
    "an owner of another workspace": bearer(world.other.token),
    "a former member": bearer(former.token),
    "a member": bearer(member.token),
    "a member by cookie": cookie(member.token),
    "an owner": bearer(mine.token),
    "an owner by cookie": { ...cookie(mine.token), origin: "http://agentd.test" }
  }
  // Whom an owner removes, and what a member may not: somebody else.
  const ids: Readonly<Record<string, string>> = { ...mine.ids, user: other.user.id }
  return { ...world, ids, headers }
})

const isRefused = (answer: Answer, [status, code]: Refusal, who: string) => {
  assert.strictEqual(answer.status, status, `${who}: ${answer.text}`)
  assert.strictEqual(answer.headers.get("x-error-code"), code, who)
}

describe("each role at each endpoint", () => {
  it("these tables name endpoints that there are", () => {
    const known = operations.map(({ id }) => id)
    assert.includeMembers(known, [...ownerAlone, ...ofTheCaller, ...Object.keys(ownersFields)])
  })

  for (const operation of operations) {
    it.effect(`${operation.id} refuses who may not, and changes nothing`, () =>
      Effect.gen(function* () {
        const { headers, ids, mine, other, send, snapshot } = yield* makeRoles
        const before = yield* Effect.forEach([other, mine], snapshot)
        const { path, ...sent } = requestOf(operation, ids)
        for (const who of everyRole) {
          const expected = refusalOf(who, operation)
          if (expected === undefined) continue
          const answer = yield* send(operation.method, path, {
            ...sent,
            headers: { ...sent.headers, ...headers[who] }
          })
          isRefused(answer, expected, who)
        }
        assert.deepStrictEqual(yield* Effect.forEach([other, mine], snapshot), before)
      }).pipe(Effect.provide(layerOffline()))
    )

    for (const who of everyRole.filter((role) => refusalOf(role, operation) === undefined)) {
      it.effect(`${operation.id} serves ${who}`, () =>
        Effect.gen(function* () {
          const { headers, ids, mine, send } = yield* makeRoles
          // The events of a run come until it is over, and only then is it retried.
          if (isOfEnded(operation)) {
            yield* send("POST", `/api/runs/${ids.run}/cancel`, { token: mine.token })
          }
          const { path, ...sent } = requestOf(operation, ids)
          const answer = yield* send(operation.method, path, {
            ...sent,
            headers: { ...sent.headers, ...headers[who] }
          })
          assert.isBelow(answer.status, 300, answer.text)
        }).pipe(Effect.provide(layerOffline()))
      )
    }
  }

  for (const [id, idField] of Object.entries(ownersFields)) {
    it.effect(`${id} takes ${idField} of an owner alone`, () =>
      Effect.gen(function* () {
        const { headers, ids, send } = yield* makeRoles
        const operation = operations.find((one) => one.id === id)
        assert.isDefined(operation)
        const { path, ...sent } = requestOf(operation, ids, { idField, id: ids.providerKey ?? "" })
        const as = (who: Role) =>
          send(operation.method, path, { ...sent, headers: { ...sent.headers, ...headers[who] } })
        isRefused(yield* as("a member"), forbidden, "a member")
        assert.isBelow((yield* as("an owner")).status, 300)
      }).pipe(Effect.provide(layerOffline()))
    )
  }
})

describe("each role at /mcp", () => {
  const withoutCredential: ReadonlyArray<Role> = [
    ...everyRole.filter((role) => roles[role] === refusedCredential),
    // A cookie is none here.
    "a member by cookie",
    "an owner by cookie",
    "an owner's cookie on a page of somebody else"
  ]

  it.effect("refuses all without a credential alike, and changes nothing", () =>
    Effect.gen(function* () {
      const { headers, ids, mine, other, send, snapshot } = yield* makeRoles
      const before = yield* Effect.forEach([other, mine], snapshot)
      const { json, method, path, ...asked } = mcp("tools/call", {
        name: "cancel_run",
        arguments: { runId: ids.run }
      })
      const texts = new Set<string>()
      for (const who of withoutCredential) {
        const answer = yield* send(method, path, { json, headers: { ...asked.headers, ...headers[who] } })
        isRefused(answer, unauthenticated, who)
        assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer", who)
        texts.add(answer.text)
      }
      assert.strictEqual(texts.size, 1, [...texts].join("\n"))
      assert.deepStrictEqual(yield* Effect.forEach([other, mine], snapshot), before)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("serves members alone in a workspace, and tells others nothing of it", () =>
    Effect.gen(function* () {
      const { headers, ids, send } = yield* makeRoles
      const list = Effect.fnUntraced(function* (who: Role, workspaceId: string) {
        const { json, method, path, ...asked } = mcp(
          "tools/call",
          { name: "list_runs", arguments: {} },
          { headers: { "x-workspace-id": workspaceId } }
        )
        const answer = yield* send(method, path, { json, headers: { ...asked.headers, ...headers[who] } })
        return answer.text.replaceAll(workspaceId, "the workspace")
      })
      const workspace = ids.workspace ?? ""
      for (const who of ["a member", "an owner"] as const) {
        assert.include(yield* list(who, workspace), "PENDING", who)
      }
      for (const who of ["a former member", "an owner of another workspace"] as const) {
        const text = yield* list(who, workspace)
        assert.notInclude(text, "PENDING", who)
        assert.strictEqual(text, yield* list(who, `${workspace.slice(0, -4)}zzzz`), who)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
