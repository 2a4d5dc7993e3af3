import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { AuditEntry } from "../../src/Schemas/Audit.ts"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import type { ConnectorId, RunId, TokenId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { Accounts } from "../../src/Services/Accounts.ts"
import { actingAs } from "../../src/Services/Audited.ts"
import * as AuditLog from "../../src/Services/AuditLog.ts"
import { AuditNotes } from "../../src/Services/AuditNotes.ts"
import { AuditRepo } from "../../src/Services/AuditRepo.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { Ids } from "../../src/Services/Ids.ts"
import * as Metrics from "../../src/Services/Metrics.ts"
import { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { layerAtRest, layerOffline, makeTenant } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"
import { dataOf, isError, makeWeb } from "../support/Web.ts"
import { makeSubject, start } from "./Schedulers.ts"

const logOf = (workspaceId: WorkspaceId): Effect.Effect<ReadonlyArray<AuditEntry>, Unavailable, AuditRepo> =>
  Effect.flatMap(AuditRepo, (repo) => repo.list({ workspaceId, after: null, limit: 1000 }))

const told = (workspaceId: WorkspaceId) =>
  Effect.map(logOf(workspaceId), (log) =>
    log.toReversed().map(({ action, actor, targetId }) => [action, actor, targetId] as const)
  )

const ofAction = (workspaceId: WorkspaceId, action: string) =>
  Effect.map(logOf(workspaceId), (log) => log.filter((entry) => entry.action === action))

/** Waits for what is written behind whoever tells it. */
const untilTold = (workspaceId: WorkspaceId, action: string, count: number) =>
  eventually(
    Effect.map(ofAction(workspaceId, action), ({ length }) => length >= count),
    `${count} times ${action}`
  )

/** An owner and a member of a workspace. */
const makePair = Effect.gen(function* () {
  const web = yield* makeWeb
  const [owner, member] = [yield* makeTenant(), yield* makeTenant()]
  const { workspaceId } = owner
  yield* (yield* WorkspaceRepo).addMember(workspaceId, member.user.id, "member", new Date(0))
  const key = { workspaceId, name: "k", provider: "offline", model: "m" }
  const refused = web.send("POST", "/api/provider-keys", { token: member.token, json: key })
  return { ...web, member, owner, refused, workspaceId }
})

describe("the audit log", () => {
  it.effect("is an owner's: newest first, a page at a time, with where the next begins", () =>
    Effect.gen(function* () {
      const { member, owner, send, workspaceId } = yield* makePair
      for (const name of ["a", "b", "c", "d"]) {
        yield* send("POST", "/api/projects", { token: owner.token, json: { workspaceId, name } })
      }
      const page = (query: string, token = owner.token) =>
        send("GET", `/api/audit?workspaceId=${workspaceId}${query}`, { token })
      const all = dataOf<ReadonlyArray<{ id: string }>>(yield* page(""))
      assert.lengthOf(all, 4)
      assert.deepStrictEqual(
        all.map(({ id }) => id),
        all
          .map(({ id }) => id)
          .toSorted()
          .toReversed()
      )
      assert.isNull((yield* page("")).headers.get("x-next-after"))
      const first = yield* page("&limit=3")
      assert.deepStrictEqual(dataOf(first), all.slice(0, 3))
      assert.strictEqual(first.headers.get("x-next-after"), all[2]?.id)
      const second = yield* page(`&limit=3&after=${all[2]?.id}`)
      assert.deepStrictEqual(dataOf(second), all.slice(3))
      assert.isNull(second.headers.get("x-next-after"))
      for (const limit of ["0", "1001", "x"]) {
        assert.strictEqual((yield* page(`&limit=${limit}`)).status, 400)
      }
      isError(yield* page("", member.token), 403, "forbidden", "only an owner of the workspace may do this")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tells of each who was refused a right of owners, once, and counts all", () =>
    Effect.gen(function* () {
      const { member, refused, send, workspaceId } = yield* makePair
      const counted = Effect.map(Metric.value(Metrics.rightsRefused), ({ count }) => Number(count))
      const before = yield* counted
      const first = yield* refused
      isError(first, 403, "forbidden", "only an owner of the workspace may do this")
      yield* Effect.replicateEffect(refused, 4)
      // Behind the others, in their order: what was told before it is written with it.
      yield* (yield* AuditNotes).looked({ id: "conn_1", workspaceId })
      yield* untilTold(workspaceId, "secret.use", 1)
      const [entry, ...rest] = yield* ofAction(workspaceId, "right.refuse")
      assert.deepStrictEqual(rest, [])
      assert.deepInclude(entry, { targetId: workspaceId, requestId: first.headers.get("x-request-id") })
      assert.deepInclude(entry?.actor, { userId: member.user.id })
      assert.strictEqual((yield* counted) - before, 5)

      // Nobody's right is refused to a stranger, whom the workspace is not there for.
      const stranger = yield* makeTenant()
      yield* send("GET", `/api/audit?workspaceId=${workspaceId}`, { token: stranger.token })
      yield* (yield* AuditNotes).looked({ id: "conn_1", workspaceId })
      yield* untilTold(workspaceId, "secret.use", 2)
      assert.lengthOf(yield* ofAction(workspaceId, "right.refuse"), 1)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tells of refusals of other users and workspaces, and of the same again after a minute", () =>
    Effect.gen(function* () {
      const { answered } = yield* AuditNotes
      const [one, two] = [yield* makeTenant(), yield* makeTenant()]
      const refuse = ({ user }: typeof one, { workspaceId }: typeof one) =>
        answered({ userId: user.id, tokenId: "token_1" as TokenId, workspaceId, isRightRefused: true })
      const counts = Effect.forEach([one, two], ({ workspaceId }) =>
        Effect.map(ofAction(workspaceId, "right.refuse"), ({ length }) => length)
      )
      for (const by of [one, two, one, two]) for (const at of [one, two]) yield* refuse(by, at)
      yield* answered({ userId: one.user.id, workspaceId: one.workspaceId })
      yield* TestClock.adjust("59999 millis")
      yield* refuse(one, one)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* counts, [2, 2])
      yield* TestClock.adjust(1)
      yield* refuse(one, one)
      yield* refuse(one, one)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* counts, [3, 2])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tells of agents and workspaces too what an owner alone may change", () =>
    Effect.gen(function* () {
      const { member, owner, send, workspaceId } = yield* makePair
      const agent = { workspaceId, name: "a", providerKeyId: "pkey_1" }
      assert.strictEqual(
        (yield* send("POST", "/api/agents", { token: member.token, json: agent })).status,
        403
      )
      yield* untilTold(workspaceId, "right.refuse", 1)
      const { workspaceId: second } = member
      yield* (yield* WorkspaceRepo).addMember(second, owner.user.id, "member", new Date(0))
      const renamed = yield* send("PATCH", `/api/workspaces/${second}`, {
        token: owner.token,
        json: { name: "n" }
      })
      assert.strictEqual(renamed.status, 403)
      yield* untilTold(second, "right.refuse", 1)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("does not hold up an answer while it can't be written, and writes it later", () => {
    let isAway = true
    const added: Array<ReadonlyArray<string>> = []
    const notes = AuditLog.layerNotes.pipe(
      Layer.provide(
        Layer.mock(AuditRepo, {
          add: (entries) =>
            Effect.suspend(() => {
              if (isAway) return Effect.fail(new Unavailable({ error: "away" }))
              added.push(entries.map(({ targetId }) => targetId ?? ""))
              return Effect.void
            })
        })
      ),
      Layer.provide(Ids.layer)
    )
    return Effect.gen(function* () {
      const { looked } = yield* AuditNotes
      const workspaceId = "ws_1" as WorkspaceId
      yield* looked({ id: "conn_1", workspaceId })
      yield* TestClock.adjust("3 seconds")
      yield* looked({ id: "conn_2", workspaceId })
      assert.deepStrictEqual(added, [])
      isAway = false
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(added, [["conn_1"], ["conn_2"]])
    }).pipe(Effect.provide(notes))
  })

  it.effect("tells once of an execution which secrets were opened for it, and of nobody's none", () =>
    Effect.gen(function* () {
      const { workspaceId } = yield* makeTenant()
      const { looked, opened } = yield* AuditNotes
      const secrets = [
        { id: "pkey_1", workspaceId },
        { id: "conn_1", workspaceId }
      ]
      const execution = Effect.forEach([...secrets, ...secrets], opened).pipe(actingAs({ system: "run_1" }))
      yield* execution
      yield* execution
      yield* opened({ id: "pkey_2", workspaceId })
      yield* looked({ id: "conn_2", workspaceId })
      yield* untilTold(workspaceId, "secret.use", 5)
      const used = (yield* ofAction(workspaceId, "secret.use")).toReversed()
      assert.deepStrictEqual(
        used.map(({ actor, targetId }) => ["system" in actor && actor.system, targetId]),
        [
          ["run_1", "pkey_1"],
          ["run_1", "conn_1"],
          ["run_1", "pkey_1"],
          ["run_1", "conn_1"],
          ["agentd", "conn_2"]
        ]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.live("tells that the key of a model was opened for a turn, by the turn", () =>
    Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      const key = yield* (yield* ProviderKeys).create(user, {
        workspaceId,
        name: "k",
        provider: "openai-compatible",
        model: "m",
        apiKey: "secret",
        // Refused: it is private.
        baseUrl: "http://127.0.0.1:9"
      })
      const events = yield* (yield* Chat).send(user, { workspaceId, content: "hello" })
      const [first] = yield* Stream.runCollect(events)
      const turnId = first?.event.event === "conversation" ? first.event.data.turnId : ""
      yield* untilTold(workspaceId, "secret.use", 1)
      const [used, ...rest] = yield* ofAction(workspaceId, "secret.use")
      assert.deepStrictEqual(rest, [])
      assert.deepInclude(used, { actor: { system: turnId }, targetId: key.id, requestId: null })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("tells who has a connector looked at that has a secret", () =>
    Effect.gen(function* () {
      const { owner, send, workspaceId } = yield* makePair
      const connect = (metadata: object) =>
        Effect.map(
          send("POST", "/api/connectors", {
            token: owner.token,
            json: { workspaceId, type: "custom", metadata }
          }),
          (answer) => dataOf<{ id: ConnectorId }>(answer).id
        )
      const [plain, secret] = [yield* connect({}), yield* connect({ credential: "s" })]
      for (const id of [plain, secret]) {
        const checked = yield* send("POST", `/api/connectors/${id}/check`, { token: owner.token })
        assert.strictEqual(checked.status, 200, checked.text)
      }
      yield* send("GET", `/api/connectors/${secret}/tools`, { token: owner.token })
      yield* untilTold(workspaceId, "secret.use", 2)
      const used = yield* ofAction(workspaceId, "secret.use")
      assert.deepStrictEqual(
        used.map(({ actor, targetId }) => ["userId" in actor && actor.userId, targetId]),
        [
          [owner.user.id, secret],
          [owner.user.id, secret]
        ]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tells what a run remembers as done by the run, and not by whoever has asked", () =>
    Effect.gen(function* () {
      const { owner, send, workspaceId } = yield* makePair
      const content = 'call remember {"key":"city","value":"Bonn"}'
      const json = { workspaceId, content, autonomyLevel: "autonomous" }
      const chat = yield* send("POST", "/api/chat/messages", { token: owner.token, json })
      const turnId = /"turnId":"(\w+)"/.exec(chat.text)?.[1]
      const memory = yield* send("GET", `/api/chat/memory?workspaceId=${workspaceId}`, { token: owner.token })
      const [{ id } = { id: "" }] = dataOf<ReadonlyArray<{ id: string }>>(memory)
      const [written, ...rest] = yield* ofAction(workspaceId, "memory.write")
      assert.deepStrictEqual(rest, [])
      assert.deepInclude(written, {
        actor: { system: turnId ?? "" },
        targetId: id,
        requestId: null,
        address: null
      })
      assert.notInclude(JSON.stringify(yield* logOf(workspaceId)), "Bonn")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("tells of runs that cron jobs make when they are due, by the job", () =>
    Effect.gen(function* () {
      const { make, runsOf, workspaceId } = yield* makeSubject
      const job = yield* make()
      yield* start
      yield* TestClock.adjust("1 hour")
      const [run] = yield* runsOf(job)
      assert.deepStrictEqual((yield* told(workspaceId)).slice(1), [
        ["run.create", { cronJobId: job.id }, run?.id as RunId]
      ])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("tells who is invited, comes and is taken out, each once", () =>
    Effect.gen(function* () {
      const { member, owner, send, workspaceId } = yield* makePair
      const guest = yield* makeTenant()
      const path = `/api/workspaces/${workspaceId}/members`
      const invite = (email: string, role?: "owner" | "member") =>
        Effect.map(
          send("POST", path, { token: owner.token, json: { email, ...(role && { role }) } }),
          (answer) => dataOf<{ userId: string }>(answer).userId
        )
      const remove = (id: string) => send("DELETE", `${path}/${id}`, { token: owner.token })
      const [nobody, invited] = [yield* invite("nobody@example.org"), yield* invite(guest.user.email)]
      // Again: its role.
      yield* invite("nobody@example.org", "owner")
      yield* remove(nobody)
      // Comes, whatever the request is, and is there from then on.
      for (const _ of [1, 2])
        yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token: guest.token })
      yield* invite(guest.user.email, "owner")
      yield* invite(member.user.email, "owner")
      yield* invite(member.user.email, "member")
      yield* remove(invited)
      yield* remove(member.user.id)
      yield* remove(member.user.id)
      const log = yield* told(workspaceId)
      assert.deepStrictEqual(
        log.map(([action, , targetId]) => [action, targetId]),
        [
          ["member.invite", nobody],
          ["member.invite", invited],
          ["member.invite", nobody],
          ["member.remove", nobody],
          ["member.join", guest.user.id],
          ["member.set_owner", guest.user.id],
          ["member.set_owner", member.user.id],
          ["member.set_member", member.user.id],
          ["member.remove", guest.user.id],
          ["member.remove", member.user.id]
        ]
      )
      for (const [action, actor] of log)
        assert.propertyVal(actor, "userId", action === "member.join" ? guest.user.id : owner.user.id)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("tells of each cron job that stops with its maker: by whom, and only where it is", () =>
    Effect.gen(function* () {
      const { execute } = yield* Accounts
      const { owner, send, workspaceId } = yield* makePair
      const makeMember = Effect.gen(function* () {
        const member = yield* makeTenant()
        yield* (yield* WorkspaceRepo).addMember(workspaceId, member.user.id, "member", new Date(0))
        const jobs: Array<string> = []
        for (const within of [workspaceId, workspaceId, member.workspaceId]) {
          const json = { workspaceId: within, name: "c", schedule: "@daily", prompt: "p" }
          jobs.push(
            dataOf<{ id: string }>(yield* send("POST", "/api/cron-jobs", { token: member.token, json })).id
          )
        }
        return { ...member, jobs: jobs.slice(0, 2), far: jobs.slice(2) }
      })
      const stops = (id: WorkspaceId) =>
        Effect.map(ofAction(id, "cron_job.stop"), (log) =>
          log.map(({ actor, address, requestId, targetId }) => ({ actor, address, requestId, targetId }))
        )
      const [removed, disabled, deleted] = [yield* makeMember, yield* makeMember, yield* makeMember]
      const path = `/api/workspaces/${workspaceId}/members/${removed.user.id}`
      const asked = { token: owner.token, headers: { "x-request-id": "asked-1" } }
      assert.strictEqual((yield* send("DELETE", path, asked)).status, 200)
      const [removal] = yield* ofAction(workspaceId, "member.remove")
      const { actor, address = null } = removal ?? assert.fail("no entry")
      const byOwner = removed.jobs.map((targetId) => ({ actor, address, requestId: "asked-1", targetId }))
      assert.sameDeepMembers(yield* stops(workspaceId), byOwner)
      assert.deepStrictEqual(yield* stops(removed.workspaceId), [])

      const operator = { actor: { system: "operator" }, address: null, requestId: null }
      const byOperator = (jobs: ReadonlyArray<string>) => jobs.map((targetId) => ({ ...operator, targetId }))
      yield* execute({ command: "user disable", email: disabled.user.email })
      yield* execute({
        command: "workspace member",
        workspace: deleted.workspaceId,
        email: owner.user.email,
        role: "owner"
      })
      yield* execute({ command: "user delete", email: deleted.user.email })
      assert.sameDeepMembers(yield* stops(workspaceId), [
        ...byOwner,
        ...byOperator([...disabled.jobs, ...deleted.jobs])
      ])
      for (const { far, workspaceId: id } of [disabled, deleted])
        assert.deepStrictEqual(yield* stops(id), byOperator(far))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("tells what the operator does, in every workspace of the user whom it is about", () =>
    Effect.gen(function* () {
      const { execute } = yield* Accounts
      const { user, workspaceId } = yield* makeTenant()
      const { email, id } = user
      const other = yield* makeTenant()
      const membership = {
        command: "workspace member",
        workspace: workspaceId,
        email: other.user.email
      } as const
      yield* execute({ ...membership, role: "owner" })
      yield* execute({ command: "workspace plan", workspace: workspaceId, plan: "pro" })
      yield* execute({ command: "token create", email, expiresInDays: null })
      yield* execute({ command: "sign-in link", email, baseUrl: "http://localhost" })
      yield* execute({ command: "user disable", email })
      yield* execute({ command: "user enable", email })
      yield* execute({ ...membership, email, role: "member" })
      yield* execute({ command: "user delete", email })
      const operator = { system: "operator" }
      const [, , created, ...rest] = yield* told(workspaceId)
      assert.deepStrictEqual(created?.slice(0, 2), ["token.create", operator])
      assert.deepStrictEqual(rest, [
        ["user.sign_in_link", operator, id],
        ["user.disable", operator, id],
        ["user.enable", operator, id],
        ["member.set_member", operator, id],
        ["user.delete", operator, id]
      ])
      assert.deepStrictEqual((yield* told(workspaceId)).slice(0, 2), [
        ["member.set_owner", operator, other.user.id],
        ["workspace.plan", operator, workspaceId]
      ])
      assert.deepStrictEqual(yield* told(other.workspaceId), [])
    }).pipe(Effect.provide(layerAtRest()))
  )
})
