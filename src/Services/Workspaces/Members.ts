import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { PlanLimitExceeded } from "../../Schemas/Connector.ts"
import { InvalidInput, notFound } from "../../Schemas/Errors.ts"
import type { UserId, WorkspaceId } from "../../Schemas/Ids.ts"
import { limited, type RatePolicy } from "../../Schemas/Rate.ts"
import { toEmail, type User } from "../../Schemas/User.ts"
import { type AddMember, type Member, mostMembers, toMember } from "../../Schemas/Workspace.ts"
import { audited, auditedAll } from "../Audited.ts"
import { newBuckets } from "../Buckets.ts"
import { CronJobRepo } from "../CronJobRepo.ts"
import { monotonicMillis, now } from "../CurrentTime.ts"
import { Ids } from "../Ids.ts"
import { Transaction } from "../Transaction.ts"
import { WorkspaceRepo } from "../WorkspaceRepo.ts"
import { makeChecks, requireOtherOwner } from "./Checks.ts"

const noEmail = new InvalidInput({ error: "email: must be an e-mail address" })

const tooMany = new PlanLimitExceeded({
  error: `members: a workspace has at most ${mostMembers}, with those who are invited`
})

/** Invitations of one user on one node. */
export const invitationRate = { name: "invitation", perMinute: 1, atOnce: 60 } as const satisfies RatePolicy

/** Who belongs to a workspace, and how that changes. */
export const makeMembers = Effect.gen(function* () {
  const ids = yield* Ids
  const jobs = yield* CronJobRepo
  const repo = yield* WorkspaceRepo
  const transaction = yield* Transaction
  const { get, requireMember, requireOwner } = yield* makeChecks
  const invitations = newBuckets(invitationRate)

  return {
    members: Effect.fnUntraced(function* (user: User, id: WorkspaceId) {
      yield* get(user, id)
      return (yield* repo.members(id)).map(toMember)
    }),
    // Users are not asked for the e-mail: the same is done, told and shown whether or not there is one who has it.
    addMember: Effect.fn("Workspaces.addMember")((user: User, id: WorkspaceId, input: AddMember) =>
      transaction.atomically(
        Effect.gen(function* () {
          yield* requireOwner(user, id)
          const email = Option.getOrUndefined(toEmail(input.email))
          if (email === undefined) return yield* noEmail
          const [role, createdAt] = [input.role ?? "member", yield* now]
          const isThere = (each: Member) => each.email === email && !each.isPending
          const invitation = { id: yield* ids.make<UserId>("user"), email, role, createdAt }
          const invited = repo.invite(id, invitation).pipe(audited("member.invite", { workspaceId: id }))
          const seen = yield* repo.members(id)
          // A member whose role is set is not invited. Who was invited before may come until this invites again.
          const members = seen.some(isThere) ? seen : yield* Effect.andThen(invited, repo.members(id))
          const found = members.find(isThere)
          if (found !== undefined) {
            if (role !== "owner") yield* requireOtherOwner(members, found.userId)
            yield* repo
              .addMember(id, found.userId, role, createdAt)
              .pipe(audited(`member.set_${role}`, { workspaceId: id, id: found.userId }))
            return { ...toMember(found), role }
          }
          if (members.length > mostMembers) return yield* tooMany
          const { isTaken, rate } = invitations.take(user.id, yield* monotonicMillis)
          if (!isTaken) return yield* limited(rate)
          const added = members.find((each) => each.email === email)
          return added === undefined ? yield* notFound("member") : toMember(added)
        })
      )
    ),
    removeMember: Effect.fn("Workspaces.removeMember")((user: User, id: WorkspaceId, given: UserId) =>
      transaction.atomically(
        Effect.gen(function* () {
          yield* user.id === given ? requireMember(user, id) : requireOwner(user, id)
          const members = yield* repo.members(id)
          const userId = members.find(({ invitationId }) => invitationId === given)?.userId ?? given
          yield* requireOtherOwner(members, userId)
          const action = user.id === userId ? "member.leave" : "member.remove"
          const removed = yield* repo
            .removeMember(id, userId)
            .pipe(audited(action, { workspaceId: id, id: userId }))
          if (Option.isNone(removed)) return yield* notFound("member")
          yield* jobs
            .stopOf({ userId: removed.value, workspaceId: id }, "maker_left", yield* now)
            .pipe(auditedAll("cron_job.stop"))
        })
      )
    )
  }
})
