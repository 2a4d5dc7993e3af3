import * as Effect from "effect/Effect"
import { AccountError } from "../../Schemas/Account.ts"
import type { User } from "../../Schemas/User.ts"
import { audited, auditedAll } from "../Audited.ts"
import { CronJobRepo } from "../CronJobRepo.ts"
import { now } from "../CurrentTime.ts"
import { IdempotencyRepo } from "../IdempotencyRepo.ts"
import { TokenRepo } from "../TokenRepo.ts"
import { UserRepo } from "../UserRepo.ts"
import { WorkspaceRepo } from "../WorkspaceRepo.ts"

const mostNamed = 10

/**
 * Lets a user go: tokens, sessions, memberships and invitations end, cron jobs that it answers for are switched off, the
 * e-mail is forgotten. What the user did stays, under an id
 * that nobody has any more: conversations can be read, and who decided is kept (CONTRACT.md section 8). Refused while a
 * workspace has no other owner. Within a transaction.
 */
export const makeRemoval = Effect.gen(function* () {
  const jobs = yield* CronJobRepo
  const keys = yield* IdempotencyRepo
  const tokens = yield* TokenRepo
  const users = yield* UserRepo
  const workspaces = yield* WorkspaceRepo

  return Effect.fnUntraced(function* (user: User) {
    // Before the user: whoever adds a member has the workspace, and waits for the user.
    yield* workspaces.lockOwned(user.id)
    const deletedAt = yield* now
    // Another may have done it since this one was found.
    const removed = users.remove(user.id, deletedAt).pipe(audited("user.delete", { userId: user.id }))
    if (!(yield* removed)) {
      return yield* new AccountError({ error: `there is no user ${user.email}` })
    }
    const left = yield* workspaces.onlyOwned(user.id, mostNamed + 1)
    if (left.length > 0) {
      const named = left.slice(0, mostNamed).map(({ id }) => id)
      const more = left.length > mostNamed ? " and more" : ""
      return yield* new AccountError({
        error:
          `${user.email} is the only owner of ${named.join(", ")}${more}: ` +
          "make somebody else an owner first (`workspace member <workspace> --email … --role owner`)"
      })
    }
    yield* workspaces.removeMemberships(user)
    yield* jobs
      .stopOf({ userId: user.id, workspaceId: null }, "maker_left", deletedAt)
      .pipe(auditedAll("cron_job.stop"))
    yield* tokens.removeOf(user.id)
    yield* keys.removeOf(user.id)
    return { userId: user.id, email: user.email, deletedAt }
  })
})
