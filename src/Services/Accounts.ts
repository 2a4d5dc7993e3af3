import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type AccountCommand, AccountError, type AccountResult, toUserSummary } from "../Schemas/Account.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { TokenId, UserId, WorkspaceId } from "../Schemas/Ids.ts"
import { linkOf } from "../Schemas/Session.ts"
import { Email, type User } from "../Schemas/User.ts"
import { isOnlyOwner, newWorkspace, type Plan, type Role, WorkspaceName } from "../Schemas/Workspace.ts"
import { makeLists } from "./Accounts/Lists.ts"
import { makeRemoval } from "./Accounts/Removal.ts"
import { actingAs, audited, auditedAll } from "./Audited.ts"
import { Auth } from "./Auth.ts"
import { CronJobRepo } from "./CronJobRepo.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { TokenRepo } from "./TokenRepo.ts"
import { Transaction } from "./Transaction.ts"
import { UserRepo } from "./UserRepo.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

const dayMillis = 86_400_000

/** What an operator does with users, tokens and workspaces (CONTRACT.md section 1, command line). */
export class Accounts extends Context.Service<
  Accounts,
  {
    /** Carries a command out as a whole or not at all. */
    readonly execute: (command: AccountCommand) => Effect.Effect<AccountResult, AccountError | Unavailable>
  }
>()("agentd/Services/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const transaction = yield* Transaction
      const users = yield* UserRepo
      const workspaces = yield* WorkspaceRepo
      const join = yield* makeJoin

      const { createUser, createWorkspace, issue, issueLink, requireUser, requireWorkspace } =
        yield* makeParts
      const { addMember, revoke, setDisabled } = yield* makeChanges
      const list = yield* makeLists
      const removeUser = yield* makeRemoval

      const perform = Effect.fnUntraced(function* (command: AccountCommand) {
        switch (command.command) {
          case "bootstrap": {
            if ((yield* users.count) > 0) {
              return yield* failed("there are users already; use `user create` or `token create`")
            }
            const user = yield* createUser(command.email)
            const workspaceId = yield* createWorkspace("default", user, "free")
            const token = yield* issue(user.id, "bootstrap", null)
            return { baseUrl: command.baseUrl, userId: user.id, workspaceId, token }
          }
          case "user create": {
            const user = yield* createUser(command.email)
            if (command.workspace !== null) {
              yield* requireWorkspace(command.workspace)
              yield* join(command.workspace, user, "member", user.createdAt)
            }
            return { userId: user.id, email: user.email, token: yield* issue(user.id, "first", null) }
          }
          case "token create": {
            const user = yield* requireUser(command.email)
            const expiresAt =
              command.expiresInDays === null
                ? null
                : new Date((yield* now).getTime() + command.expiresInDays * dayMillis)
            const token = yield* issue(user.id, "command line", expiresAt)
            return { userId: user.id, email: user.email, token }
          }
          case "sign-in link":
            return yield* issueLink(yield* requireUser(command.email), command.baseUrl)
          case "workspace create": {
            const owner = yield* requireUser(command.owner)
            const workspaceId = yield* createWorkspace(command.name, owner, command.plan)
            return { workspaceId, name: command.name, plan: command.plan }
          }
          case "workspace plan": {
            const workspace = yield* requireWorkspace(command.workspace)
            const planned = workspaces.setPlan(workspace.id, command.plan, yield* now)
            yield* planned.pipe(audited("workspace.plan", ofWorkspace(workspace.id)))
            return { workspaceId: workspace.id, name: workspace.name, plan: command.plan }
          }
          case "workspace member": {
            const user = yield* requireUser(command.email)
            const { id } = yield* requireWorkspace(command.workspace)
            return yield* addMember(id, user, command.role)
          }
          case "user disable":
          case "user enable":
            return yield* setDisabled(yield* requireUser(command.email), command.command === "user disable")
          case "user delete":
            return yield* removeUser(yield* requireUser(command.email))
          case "user list":
            return yield* list(command, null)
          case "token list":
          case "workspace list":
            return yield* list(command, command.email === null ? null : yield* requireUser(command.email))
          case "token revoke":
            return yield* revoke(command.token)
        }
      })
      return Accounts.of({
        execute: Effect.fn((command) =>
          transaction
            .atomically(actingAs({ system: "operator" })(perform(command)))
            .pipe(Effect.catchTag("AlreadyExists", ({ error }) => failed(error)))
        )
      })
    })
  )
}

/** What the commands are made of, each within the transaction of its command. */
const makeParts = Effect.gen(function* () {
  const auth = yield* Auth
  const ids = yield* Ids
  const users = yield* UserRepo
  const workspaces = yield* WorkspaceRepo
  const join = yield* makeJoin

  const createUser = Effect.fnUntraced(function* (address: string) {
    const email = yield* emailOf(address)
    const user = { id: yield* ids.make<UserId>("user"), email, createdAt: yield* now }
    yield* users.insert(user)
    return user
  })
  const requireUser = Effect.fnUntraced(function* (address: string) {
    const found = yield* users.findByEmail(yield* emailOf(address))
    return Option.isSome(found) ? found.value : yield* noUser(address)
  })
  const createWorkspace = Effect.fnUntraced(function* (name: string, owner: User, plan: Plan) {
    const at = yield* now
    const id = yield* ids.make<WorkspaceId>("workspace")
    const workspace = newWorkspace({ id, name: yield* nameOf(name), plan, at })
    // What an operator makes counts, and is never refused by a quota.
    yield* workspaces
      .insert(workspace, owner.id)
      .pipe(audited("workspace.create", ofWorkspace(id)), Effect.catchTag("PlanLimitExceeded", Effect.die))
    yield* join(id, owner, "owner", at)
    return id
  })
  const issue = Effect.fnUntraced(function* (userId: UserId, name: string, expiresAt: Date | null) {
    const { secret } = yield* auth
      .issue({ userId, name, expiresAt })
      .pipe(audited("token.create", { userId }))
    return Redacted.value(secret)
  })
  const issueLink = Effect.fnUntraced(function* ({ email, id }: User, baseUrl: string) {
    const { code, expiresAt } = yield* auth
      .issueLink(id)
      .pipe(audited("user.sign_in_link", { userId: id, id }))
    return { userId: id, email, url: linkOf(baseUrl, Redacted.value(code)), expiresAt }
  })
  const requireWorkspace = Effect.fnUntraced(function* (id: WorkspaceId) {
    const found = yield* workspaces.find(id)
    return Option.isSome(found) ? found.value : yield* failed(`there is no workspace ${id}`)
  })
  return { createUser, createWorkspace, issue, issueLink, requireUser, requireWorkspace }
})

/** What commands change of what is there, each within the transaction of its command. */
const makeChanges = Effect.gen(function* () {
  const jobs = yield* CronJobRepo
  const tokens = yield* TokenRepo
  const users = yield* UserRepo
  const workspaces = yield* WorkspaceRepo
  const join = yield* makeJoin

  /** The cron jobs of one who is disabled are switched off, and stay so. */
  const setDisabled = Effect.fnUntraced(function* ({ email, id }: User, disabled: boolean) {
    const at = yield* now
    const changed = yield* users
      .setDisabled(id, disabled ? at : null)
      .pipe(audited(disabled ? "user.disable" : "user.enable", { userId: id }))
    if (disabled) {
      const stopped = jobs.stopOf({ userId: id, workspaceId: null }, "maker_disabled", at)
      yield* stopped.pipe(auditedAll("cron_job.stop"))
    }
    return Option.isSome(changed) ? toUserSummary(changed.value) : yield* noUser(email)
  })
  const revoke = Effect.fnUntraced(function* (id: TokenId) {
    const found = yield* tokens.find(id)
    if (Option.isNone(found)) return yield* failed(`there is no token ${id}`)
    const { email, name, userId } = found.value
    yield* tokens.revoke(userId, id, yield* now).pipe(audited("token.revoke", { userId, id }))
    return { tokenId: id, name, userId, email }
  })
  const addMember = Effect.fnUntraced(function* (id: WorkspaceId, user: User, role: Role) {
    yield* workspaces.lock(id)
    if (role !== "owner" && isOnlyOwner(yield* workspaces.members(id), user.id)) {
      return yield* failed("a workspace must keep an owner")
    }
    yield* join(id, user, role, yield* now)
    return { workspaceId: id, userId: user.id, role }
  })
  return { addMember, revoke, setDisabled }
})

/** Lets a user in who was found before, and may have been deleted since. */
const makeJoin = Effect.map(WorkspaceRepo, (workspaces) =>
  Effect.fnUntraced(function* (id: WorkspaceId, user: User, role: Role, at: Date) {
    const added = workspaces.addMember(id, user.id, role, at)
    const of = { workspaceId: id, id: user.id }
    if (!(yield* added.pipe(audited(`member.set_${role}`, of)))) return yield* noUser(user.email)
  })
)

const ofWorkspace = (id: WorkspaceId) => ({ workspaceId: id, id })

const noUser = (email: string) => failed(`there is no user ${email}`)

const failed = (error: string) => new AccountError({ error })

const emailOf = (address: string) =>
  Schema.decodeEffect(Email)(address.trim().toLowerCase() as Email).pipe(
    Effect.mapError(() => failed(`email: ${address} is no e-mail address`))
  )

const nameOf = (name: string) =>
  Schema.decodeEffect(WorkspaceName)(name).pipe(
    Effect.mapError(() => failed("name: must be 1 to 100 characters"))
  )
