import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredAuditEntry } from "../../src/Schemas/Audit.ts"
import { runOfJob } from "../../src/Schemas/CronFire.ts"
import type { AuditEntryId, CronJobId, RunId, TokenId, UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { Email } from "../../src/Schemas/User.ts"
import { actingAs, audited, auditedAll, auditedEach } from "../../src/Services/Audited.ts"
import { AuditRepo } from "../../src/Services/AuditRepo.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { ProjectRepo } from "../../src/Services/ProjectRepo.ts"
import { CurrentRequest } from "../../src/Services/RequestFacts.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeUser, makeWorkspace, newId } from "../support/Fixtures.ts"
import { makeCronJob } from "./CronJobRepo.ts"

const asked = {
  requestId: "req_1",
  address: "192.0.2.7",
  userId: "user_1" as UserId,
  tokenId: "token_1" as TokenId
}

const listed = (workspaceId: WorkspaceId, after: AuditEntryId | null = null, limit = 1000) =>
  Effect.flatMap(AuditRepo, (repo) => repo.list({ workspaceId, after, limit }))

const newProject = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const id = yield* newId<string>("project")
  return { id: id as never, workspaceId, name: "p", createdAt: at() }
})

const newEntry = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<StoredAuditEntry> = {}
) {
  const entry: StoredAuditEntry = {
    id: yield* newId<AuditEntryId>("auditEntry"),
    workspaceId,
    at: at(),
    actor: { cronJobId: "cron_1" as CronJobId },
    action: "secret.use",
    targetId: "pkey_1",
    requestId: null,
    address: null,
    ...given
  }
  return entry
})

const withoutWorkspace = ({ workspaceId: _, ...entry }: StoredAuditEntry) => entry

export const suite = (it: It) =>
  describe("AuditRepo", () => {
    it.effect("keeps with a change who asked for it, and from where", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const project = yield* newProject(workspaceId)
        const inserted = (yield* ProjectRepo).insert(project)
        const before = Date.now()
        yield* inserted.pipe(audited("project.create", project), Effect.provideService(CurrentRequest, asked))
        const [entry, ...rest] = yield* listed(workspaceId)
        assert.deepStrictEqual(rest, [])
        assert.match(entry?.id ?? "", /^audit_[0-9a-z]{26}$/)
        assert.isAtLeast(entry?.at.getTime() ?? 0, before)
        const { id: _, at: __, ...told } = entry ?? assert.fail("no entry")
        assert.deepStrictEqual(told, {
          actor: { userId: asked.userId, tokenId: asked.tokenId },
          action: "project.create",
          targetId: project.id,
          requestId: "req_1",
          address: "192.0.2.7"
        })
      })
    )

    it.effect("keeps none where nobody says so, and tells of no request where another acts", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const projects = yield* ProjectRepo
        yield* projects.insert(yield* newProject(workspaceId))
        assert.deepStrictEqual(yield* listed(workspaceId), [])
        const project = yield* newProject(workspaceId)
        yield* projects
          .insert(project)
          .pipe(
            audited("project.create", project),
            actingAs({ system: "operator" }),
            Effect.provideService(CurrentRequest, asked)
          )
        const [entry] = yield* listed(workspaceId)
        assert.deepStrictEqual(
          [entry?.actor, entry?.requestId, entry?.address],
          [{ system: "operator" }, null, null]
        )
      })
    )

    it.effect("keeps none of what is rolled back, or changes nothing", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const projects = yield* ProjectRepo
        const { atomically } = yield* Transaction
        const project = yield* newProject(workspaceId)
        const inserted = projects.insert(project).pipe(audited("project.create", project))
        yield* Effect.flip(atomically(Effect.andThen(inserted, Effect.fail("no"))))
        assert.deepStrictEqual(yield* listed(workspaceId), [])
        const userId = (yield* makeUser).id
        const removed = (yield* WorkspaceRepo)
          .removeMember(workspaceId, userId)
          .pipe(audited("member.remove", { workspaceId, id: userId }))
        assert.deepStrictEqual(yield* removed, Option.none())
        assert.deepStrictEqual(yield* listed(workspaceId), [])
        yield* atomically(inserted)
        assert.lengthOf(yield* listed(workspaceId), 1)
      })
    )

    it.effect("keeps what is of a user in the log of each workspace of the user, and of no other", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const [one, two, other] = [yield* makeWorkspace, yield* makeWorkspace, yield* makeWorkspace]
        const [user, stranger] = [yield* makeUser, yield* makeUser]
        for (const id of [one, two]) yield* workspaces.addMember(id, user.id, "member", at())
        yield* workspaces.addMember(other, stranger.id, "owner", at())
        const id = yield* newId<TokenId>("token")
        const token = { id, userId: user.id, parentId: null, name: "t", hash: id, createdAt: at() }
        yield* (yield* TokenRepo)
          .insert({ ...token, expiresAt: null, revokedAt: null })
          .pipe(audited("token.create", { userId: user.id }))
        const [ofOne, ofTwo] = [yield* listed(one), yield* listed(two)]
        assert.deepStrictEqual(
          ofOne.map(({ action, targetId }) => [action, targetId]),
          [["token.create", id]]
        )
        assert.deepStrictEqual(ofTwo, ofOne)
        assert.deepStrictEqual(yield* listed(other), [])
        // What is revoked already is not changed.
        for (const end of [at(5), at(9)]) {
          const revoked = (yield* TokenRepo).revoke(user.id, id, end)
          assert.isTrue(yield* revoked.pipe(audited("token.revoke", { userId: user.id, id })))
        }
        assert.deepStrictEqual(
          (yield* listed(two)).map(({ action }) => action),
          ["token.revoke", "token.create"]
        )
        // While the user is a member still: its end is told as well.
        yield* (yield* UserRepo).remove(user.id, at()).pipe(audited("user.delete", { userId: user.id }))
        assert.strictEqual((yield* listed(two))[0]?.targetId, user.id)
      })
    )

    it.effect("keeps an entry of each run that is made of several, and none of what is not made", () =>
      Effect.gen(function* () {
        const fires = yield* CronFireRepo
        const workspaceId = yield* makeWorkspace
        const jobs = [yield* makeCronJob(workspaceId), yield* makeCronJob(workspaceId)]
        const fire = Effect.fnUntraced(function* (scheduledAt: Date) {
          const slots = yield* Effect.forEach(jobs, (job) =>
            Effect.map(newId<RunId>("run"), (id) => ({
              cronJobId: job.id,
              scheduledAt,
              outcome: "fired" as const,
              run: runOfJob({ ...job, agentPolicy: null }, id, at(7))
            }))
          )
          const changes = slots.map(({ cronJobId, run }) => ({
            action: "run.create" as const,
            scope: { workspaceId },
            targetId: run.id,
            actor: { cronJobId }
          }))
          yield* fires.record({ firedAt: at(7), slots, backlogs: [], next: [] }).pipe(auditedEach(changes))
          return slots.map(({ cronJobId, run }) => ({ actor: { cronJobId }, targetId: run.id }))
        })
        const told = Effect.map(listed(workspaceId), (log) =>
          log.map(({ actor, targetId }) => ({ actor, targetId }))
        )
        const first = yield* fire(at(1))
        assert.sameDeepMembers([...(yield* told)], first)
        // These slots are in the ledger already: they make no run.
        yield* fire(at(1))
        assert.sameDeepMembers([...(yield* told)], first)
      })
    )

    it.effect("keeps one entry of an invitation that ends: by who comes, or by who takes it back", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceRepo
        const workspaceId = yield* makeWorkspace
        const [guest, stranger] = [yield* makeUser, yield* makeUser]
        const invite = Effect.fnUntraced(function* (email: Email) {
          const id = yield* newId<UserId>("user")
          yield* workspaces.invite(workspaceId, { id, email, role: "member", createdAt: at() })
          return id
        })
        const told = Effect.map(listed(workspaceId), (log) =>
          log.toReversed().map(({ action, targetId }) => [action, targetId])
        )
        const role = (id: UserId) =>
          workspaces.role(workspaceId, id).pipe(audited("member.join", { workspaceId, id }))
        yield* invite(guest.email)
        yield* role(stranger.id)
        assert.deepStrictEqual(yield* told, [])
        yield* Effect.all(
          Array.from({ length: 20 }, () => role(guest.id)),
          { concurrency: "unbounded" }
        )
        const joined = ["member.join", guest.id]
        assert.deepStrictEqual(yield* told, [joined])
        const invitation = yield* invite(stranger.email)
        const removed = (id: UserId) =>
          workspaces.removeMember(workspaceId, id).pipe(audited("member.remove", { workspaceId, id }))
        yield* removed(invitation)
        const taken = ["member.remove", invitation]
        assert.deepStrictEqual(yield* told, [joined, taken])
        // A member who was invited again: one removal.
        yield* invite(guest.email)
        yield* removed(guest.id)
        yield* removed(guest.id)
        assert.deepStrictEqual(yield* told, [joined, taken, ["member.remove", guest.id]])
      })
    )

    it.effect("keeps an entry of each row that a statement changes, in the log of its workspace", () =>
      Effect.gen(function* () {
        const [jobs, workspaces] = [yield* CronJobRepo, yield* WorkspaceRepo]
        const [one, two, other] = [yield* makeWorkspace, yield* makeWorkspace, yield* makeWorkspace]
        const [maker, bystander] = [yield* makeUser, yield* makeUser]
        for (const id of [one, two]) yield* workspaces.addMember(id, maker.id, "member", at())
        yield* workspaces.addMember(other, bystander.id, "member", at())
        const mine = { createdBy: maker.id, nextFireAt: at(60_000) }
        const ofOne = [yield* makeCronJob(one, mine), yield* makeCronJob(one, mine)]
        const ofTwo = [yield* makeCronJob(two, mine)]
        yield* makeCronJob(one, { ...mine, isActive: false, nextFireAt: null })
        yield* makeCronJob(other, { createdBy: bystander.id, nextFireAt: at(60_000) })
        const stopped = jobs
          .stopOf({ userId: maker.id, workspaceId: null }, "maker_left", at(7))
          .pipe(auditedAll("cron_job.stop"), Effect.provideService(CurrentRequest, asked))
        const { atomically } = yield* Transaction
        yield* Effect.flip(atomically(Effect.andThen(stopped, Effect.fail("no"))))
        assert.deepStrictEqual(yield* listed(one), [])
        yield* stopped
        // What is off already is not changed.
        yield* stopped
        const actor = { userId: asked.userId, tokenId: asked.tokenId }
        for (const [workspaceId, stops] of [
          [one, ofOne],
          [two, ofTwo],
          [other, []]
        ] as const) {
          const log = yield* listed(workspaceId)
          assert.sameDeepMembers(
            log.map(({ at: _, id, ...entry }) => entry),
            stops.map(({ id }) => ({
              actor,
              action: "cron_job.stop",
              targetId: id,
              requestId: "req_1",
              address: "192.0.2.7"
            }))
          )
          for (const { id } of log) assert.match(id, /^audit_[0-9a-z]{26}$/)
        }
      })
    )

    it.effect("lists newest first, a page at a time, and no other workspace", () =>
      Effect.gen(function* () {
        const repo = yield* AuditRepo
        const [workspaceId, other] = [yield* makeWorkspace, yield* makeWorkspace]
        const entries: Array<StoredAuditEntry> = []
        for (let n = 0; n < 5; n++) entries.push(yield* newEntry(workspaceId, { at: at(-n) }))
        yield* repo.add([...entries.toReversed(), yield* newEntry(other)])
        const newest = entries.toReversed().map(withoutWorkspace)
        assert.deepStrictEqual(yield* listed(workspaceId), newest)
        assert.deepStrictEqual(yield* listed(workspaceId, null, 2), newest.slice(0, 2))
        assert.deepStrictEqual(yield* listed(workspaceId, newest[1]?.id, 2), newest.slice(2, 4))
        assert.deepStrictEqual(yield* listed(workspaceId, newest[4]?.id, 2), [])
      })
    )

    it.effect("keeps an entry that is added again once, as it was", () =>
      Effect.gen(function* () {
        const repo = yield* AuditRepo
        const workspaceId = yield* makeWorkspace
        const entry = yield* newEntry(workspaceId)
        yield* repo.add([entry])
        yield* repo.add([{ ...entry, action: "other" }, yield* newEntry(workspaceId)])
        const found = yield* listed(workspaceId)
        assert.lengthOf(found, 2)
        assert.deepStrictEqual(found[1], withoutWorkspace(entry))
      })
    )

    it.effect("forgets the oldest first, up to a number, and nothing that is not old", () =>
      Effect.gen(function* () {
        const repo = yield* AuditRepo
        const workspaceId = yield* makeWorkspace
        const old = (n: number) => new Date(n)
        for (const n of [3, 1, 2]) yield* repo.add([yield* newEntry(workspaceId, { at: old(n) })])
        yield* repo.add([yield* newEntry(workspaceId, { at: old(9) })])
        assert.strictEqual(yield* repo.prune(old(9), 2), 2)
        const times = Effect.map(listed(workspaceId), (found) => found.map(({ at }) => at.getTime()))
        assert.deepStrictEqual(yield* times, [9, 3])
        assert.strictEqual(yield* repo.prune(old(9), 2), 1)
        assert.strictEqual(yield* repo.prune(old(9), 2), 0)
        assert.deepStrictEqual(yield* times, [9])
      })
    )
  })
