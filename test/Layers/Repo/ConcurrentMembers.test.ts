import type { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Statement from "effect/sql/Statement"
import type { CronJob } from "../../../src/Schemas/CronJob.ts"
import type { UserId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { Email, User } from "../../../src/Schemas/User.ts"
import { Accounts } from "../../../src/Services/Accounts.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { CronJobs } from "../../../src/Services/CronJobs.ts"
import { Scheduler } from "../../../src/Services/Scheduler.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { Workspaces } from "../../../src/Services/Workspaces.ts"
import { at, makeUser } from "../../support/Fixtures.ts"
import { listedFor } from "../../support/Listed.ts"
import * as Postgres from "../../support/Postgres.ts"
import { isOver, makeCronNodes, makeDueJobs } from "./CronNodes.ts"

const atOnce = { concurrency: "unbounded" } as const

const invite = (id: WorkspaceId, user: User, given: { readonly email: string; readonly role?: "owner" }) =>
  Effect.flatMap(Workspaces, (use) => use.addMember(user, id, given))
const remove = (id: WorkspaceId, user: User, userId: UserId) =>
  Effect.flatMap(Workspaces, (use) => use.removeMember(user, id, userId))
const make = (workspaceId: WorkspaceId, user: User) =>
  Effect.flatMap(CronJobs, (use) =>
    use.create(user, { workspaceId, name: "Job", schedule: "@yearly", prompt: "p" })
  )
const change = (user: User, { id }: Pick<CronJob, "id">, isActive: boolean) =>
  Effect.flatMap(CronJobs, (use) => use.update(user, id, { isActive }))
const takeOver = (user: User, { id }: Pick<CronJob, "id">) =>
  Effect.flatMap(CronJobs, (use) => use.takeOver(user, id))
const operator = (command: "user delete" | "user disable", { email }: User) =>
  Effect.flatMap(Accounts, (use) => use.execute({ command, email }))

type Work = Effect.Effect<unknown, { readonly _tag: string }, UseCases>
type UseCases = Accounts | CronJobs | Workspaces

/** Three nodes, a workspace with an owner and a member, and jobs of that member. */
const makeSite = Effect.gen(function* () {
  const nodes = yield* makeCronNodes(3)
  const { on, workspaceId } = nodes
  const member = yield* on(0, makeUser)
  const workspaces = yield* on(0, WorkspaceRepo)
  const join = workspaces.addMember(workspaceId, member.id, "owner", at())
  yield* join
  /** What becomes of `late` on another node, which waits for `first`, done and not yet committed. */
  const behind = Effect.fnUntraced(function* <A, E, B, E2>(
    first: Effect.Effect<A, E, UseCases>,
    late: Effect.Effect<B, E2, UseCases>
  ) {
    const doing = Effect.gen(function* () {
      yield* first
      const fiber = yield* Effect.forkDetach(on(1, Effect.result(late)))
      yield* Effect.orDie(on(2, Postgres.untilWaiting(1)))
      return fiber
    })
    const fiber = yield* on(
      0,
      Effect.flatMap(Transaction, (transaction) => transaction.atomically(doing))
    )
    return yield* Fiber.join(fiber)
  })
  return { ...nodes, behind, join, member, workspaces }
})

/** Jobs that are on, of somebody who may not use their workspace. */
const orphans = (sql: PgClient) =>
  Effect.map(
    sql<{ id: string }>`
      select c.id from cron_jobs c where c.is_active and c.created_by is not null and not exists (
        select from workspace_members m join users u on u.id = m.user_id and u.disabled_at is null
        where m.workspace_id = c.workspace_id and m.user_id = c.created_by)`,
    (rows) => rows.map(({ id }) => id)
  )

const makersSuite = () => {
  it.live("a job that is being made when its maker is removed is stopped too", () =>
    Effect.gen(function* () {
      const { behind, member, on, sql, user, workspaceId } = yield* makeSite
      assert.isTrue(
        Result.isSuccess(yield* behind(make(workspaceId, member), remove(workspaceId, user, member.id)))
      )
      const [job = assert.fail()] = yield* on(
        0,
        Effect.flatMap(CronJobs, (use) => listedFor(use, user, { workspaceId }))
      )
      assert.isFalse(job.isActive)
      assert.deepStrictEqual(yield* orphans(sql), [])
    })
  )

  it.live.each<readonly [string, "Forbidden" | "NotFound", "make" | "switch on"]>([
    ["made", "Forbidden", "make"],
    ["switched on", "NotFound", "switch on"]
  ])("no job is %s by who is being removed, disabled or deleted", ([, tag, what]) =>
    Effect.gen(function* () {
      const { behind, join, member, on, sql, user, workspaceId } = yield* makeSite
      const job = yield* on(0, make(workspaceId, member))
      yield* on(0, change(member, job, false))
      const late: Work = what === "make" ? make(workspaceId, member) : change(member, job, true)
      const ways: ReadonlyArray<Work> = [
        remove(workspaceId, user, member.id),
        operator("user disable", member),
        operator("user delete", member)
      ]
      for (const first of ways) {
        yield* join
        yield* sql`update users set disabled_at = null`
        const result = yield* behind(first, late)
        assert.strictEqual(Result.isFailure(result) ? result.failure._tag : "made", tag)
        assert.deepStrictEqual(yield* orphans(sql), [])
      }
    })
  )

  it.live("who switches on a job whose maker is being removed answers for it", () =>
    Effect.gen(function* () {
      const { behind, member, on, sql, user, workspaceId } = yield* makeSite
      const job = yield* on(0, make(workspaceId, member))
      yield* on(0, change(member, job, false))
      const result = yield* behind(remove(workspaceId, user, member.id), change(user, job, true))
      assert.isTrue(Result.isSuccess(result) && result.success.isActive)
      const [row] = yield* sql<{ maker: string }>`select created_by as maker from cron_jobs`
      assert.strictEqual(row?.maker, user.id)
    })
  )

  it.live("a job that is being taken over stays that of its new maker when others switch it on", () =>
    Effect.gen(function* () {
      const { behind, member, on, sql, user, workspaceId, workspaces } = yield* makeSite
      const third = yield* on(0, makeUser)
      yield* workspaces.addMember(workspaceId, third.id, "member", at())
      const job = yield* on(0, make(workspaceId, member))
      yield* on(0, change(member, job, false))
      yield* on(0, remove(workspaceId, user, member.id))
      assert.isTrue(Result.isSuccess(yield* behind(takeOver(user, job), change(third, job, true))))
      const [row] = yield* sql<{ maker: string; isOn: boolean }>`
        select created_by as maker, is_active as "isOn" from cron_jobs`
      assert.deepStrictEqual(row, { maker: user.id, isOn: true })
    })
  )

  it.live(
    "nothing is on of who was removed, whatever all of them do meanwhile, and nobody waits for ever",
    () =>
      Effect.gen(function* () {
        const { join, member, on, sql, user, workspaceId } = yield* makeSite
        const jobs = yield* Effect.replicateEffect(on(0, make(workspaceId, member)), 3)
        for (let round = 0; round < 24; round++) {
          yield* sql`update users set disabled_at = null`
          yield* join
          yield* Effect.forEach(jobs, (job) => on(0, change(member, job, round % 2 === 0)))
          const leave: Work =
            round % 3 === 0
              ? operator("user disable", member)
              : remove(workspaceId, round % 3 === 1 ? user : member, member.id)
          const works: ReadonlyArray<Work> = [
            leave,
            make(workspaceId, member),
            ...jobs.flatMap((job) => [
              change(member, job, true),
              change(user, job, true),
              change(member, job, false),
              takeOver(round % 2 === 0 ? member : user, job)
            ])
          ]
          const results = yield* Effect.forEach(works, (work, n) => on(n, Effect.result(work)), atOnce)
          for (const result of results) {
            if (Result.isFailure(result)) assert.include(["Forbidden", "NotFound"], result.failure._tag)
          }
          assert.isTrue(Result.isSuccess(results[0] ?? assert.fail()))
          assert.deepStrictEqual(yield* orphans(sql), [])
          yield* sql`delete from cron_jobs where not ${sql.in(
            "id",
            jobs.map(({ id }) => id)
          )}`
        }
      })
  )

  it.live("once a member is removed no node fires its jobs any more", () =>
    Effect.gen(function* () {
      const { member, on, sql, user, workspaceId } = yield* makeSite
      const ids = yield* makeDueJobs(sql, workspaceId, 40, 0)
      yield* sql`update cron_jobs set created_by = ${member.id} where id <> ${ids[0] ?? ""}`
      let going = true
      const firing = Effect.forEach(
        [0, 1, 2],
        (node) =>
          on(
            node,
            Effect.gen(function* () {
              const { fireDue } = yield* Scheduler
              while (going) yield* fireDue
            })
          ),
        atOnce
      )
      const slots = (of: string) =>
        Effect.map(
          sql<{ count: number }>`select count(*)::int as count from cron_fires where cron_job_id ~ ${of}`,
          ([row]) => row?.count ?? 0
        )
      const removing = Effect.gen(function* () {
        while ((yield* slots("")) < ids.length);
        yield* on(1, remove(workspaceId, user, member.id))
        const removed = yield* on(
          0,
          Effect.flatMap(CronFireRepo, (fires) => fires.now)
        )
        while (!(yield* isOver(sql, removed, 2_500)));
        going = false
        return removed
      })
      const [removed] = yield* Effect.all([removing, firing], atOnce)
      const late = yield* sql<{ id: string }>`
        select distinct cron_job_id as id from cron_fires where fired_at > ${removed}`
      assert.deepStrictEqual(
        late.map(({ id }) => id),
        [ids[0] ?? ""]
      )
      const [kept] = yield* sql<{ count: number }>`
        select count(distinct cron_job_id)::int as count from cron_fires`
      assert.strictEqual(kept?.count, ids.length)
    })
  )
}

const invitationsSuite = () => {
  it.live("the same statements are sent for an e-mail that somebody has and for one that nobody has", () =>
    Effect.gen(function* () {
      const { on, user, workspaceId } = yield* makeCronNodes(1)
      const stranger = yield* on(0, makeUser)
      const sent = Effect.fnUntraced(function* (email: string) {
        const statements: Array<string> = []
        const record: Statement.Transformer = (statement) =>
          Effect.sync(() => {
            const [text, parameters] = statement.compile()
            statements.push(text)
            statements.push(...parameters.filter((each) => each === email).map(String))
            return statement
          })
        yield* on(0, invite(workspaceId, user, { email })).pipe(
          Effect.provideService(Statement.CurrentTransformer, record)
        )
        return statements.map((text) => text.replaceAll(email, "the e-mail"))
      })
      const known = yield* sent(stranger.email)
      assert.isAbove(known.length, 5)
      assert.deepStrictEqual(yield* sent("nobody@example.org"), known)
      assert.deepStrictEqual(
        known.filter((text) => text === "the e-mail"),
        ["the e-mail"],
        "nothing but the invitation names the e-mail"
      )
    })
  )

  it.live("one who comes in while the role is changed has the new role", () =>
    Effect.gen(function* () {
      const { on, user, workspaceId } = yield* makeCronNodes(3)
      const stranger = yield* on(0, makeUser)
      yield* on(0, invite(workspaceId, user, stranger))
      const doing = Effect.gen(function* () {
        yield* invite(workspaceId, user, { email: stranger.email, role: "owner" })
        const repo = yield* on(1, WorkspaceRepo)
        const fiber = yield* Effect.forkDetach(repo.role(workspaceId, stranger.id))
        yield* Effect.orDie(on(2, Postgres.untilWaiting(1)))
        return fiber
      })
      const fiber = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(doing))
      )
      assert.deepStrictEqual(yield* Fiber.join(fiber), Option.some("owner"))
    })
  )

  it.live(
    "one who comes in only to leave waits for who changes the invitation, and not that one for it",
    () =>
      Effect.gen(function* () {
        const { on, user, workspaceId } = yield* makeCronNodes(3)
        const stranger = yield* on(0, makeUser)
        yield* on(0, invite(workspaceId, user, stranger))
        const doing = Effect.gen(function* () {
          yield* (yield* WorkspaceRepo).lock(workspaceId)
          const fiber = yield* Effect.forkDetach(on(1, remove(workspaceId, stranger, stranger.id)))
          yield* Effect.orDie(on(2, Postgres.untilWaiting(1)))
          yield* invite(workspaceId, user, { email: stranger.email, role: "owner" })
          return fiber
        })
        const fiber = yield* on(
          0,
          Effect.flatMap(Transaction, (transaction) => transaction.atomically(doing))
        )
        yield* Fiber.join(fiber)
        const repo = yield* on(2, WorkspaceRepo)
        assert.strictEqual((yield* repo.members(workspaceId)).length, 1)
      })
  )

  it.live("nobody is left half invited, whatever is done at the same time", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(3)
      const stranger = yield* on(0, makeUser)
      const repo = yield* on(2, WorkspaceRepo)
      for (let round = 0; round < 40; round++) {
        const { userId } = yield* on(0, invite(workspaceId, user, stranger))
        const given = round % 2 === 0 ? userId : stranger.id
        const role = repo.role(workspaceId, stranger.id)
        const works = [
          Effect.asVoid(role),
          Effect.asVoid(role),
          round % 4 < 2
            ? on(0, remove(workspaceId, user, given))
            : on(0, Effect.asVoid(invite(workspaceId, user, { email: stranger.email, role: "owner" }))),
          on(1, Effect.asVoid(Effect.flatMap(Workspaces, (use) => use.members(user, workspaceId))))
        ]
        yield* Effect.all(works, atOnce)
        const members = yield* on(
          0,
          Effect.flatMap(Workspaces, (use) => use.members(user, workspaceId))
        )
        const found = members.filter(({ email }) => email === stranger.email)
        if (round % 4 < 2) assert.deepStrictEqual(found, [], "removed for good")
        else
          assert.deepStrictEqual(
            found.map((each) => each.role),
            ["owner"]
          )
        yield* Effect.ignore(on(0, remove(workspaceId, user, stranger.id)))
        const [left] = yield* sql<{ count: number }>`select count(*)::int as count from workspace_invitations`
        assert.strictEqual(left?.count, 0)
      }
    })
  )

  it.live("no more are invited at the same time than a workspace may have", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(3)
      yield* sql`
        insert into workspace_invitations (workspace_id, email, id, role, created_at)
        select ${workspaceId}, 'p' || n || '@example.org', 'user_p' || n, 'member', now()
        from generate_series(1, 989) n`
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => `q${n}@example.org` as Email),
        (email, n) => on(n, Effect.result(invite(workspaceId, user, { email }))),
        atOnce
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 10)
      const [row] = yield* sql<{ count: number }>`select count(*)::int as count from workspace_invitations`
      assert.strictEqual(row?.count, 999)
    })
  )
}

if (Postgres.hasPostgres) describe("Makers of cron jobs on several nodes", makersSuite)
else describe.skip(Postgres.skipped("Makers of cron jobs on several nodes"), makersSuite)
if (Postgres.hasPostgres) describe("Invitations on several nodes", invitationsSuite)
else describe.skip(Postgres.skipped("Invitations on several nodes"), invitationsSuite)
