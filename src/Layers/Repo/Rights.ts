import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { UserId } from "../../Schemas/Ids.ts"
import type { Role } from "../../Schemas/Workspace.ts"
import { monotonicMillisOf } from "../../Services/CurrentTime.ts"
import { Rights } from "../../Services/Rights.ts"
import { Signals } from "../../Services/Signals.ts"
import { type TokenOwner, TokenRepo } from "../../Services/TokenRepo.ts"
import { Transaction } from "../../Services/Transaction.ts"
import { UserRepo } from "../../Services/UserRepo.ts"
import { WorkspaceRepo } from "../../Services/WorkspaceRepo.ts"
import { makeRemembered, type Remembered } from "./Remembered.ts"

/** Whose rights a transaction has changed so far: of which users, or perhaps of any. */
interface Changed {
  readonly users: Set<UserId>
  ofAny: boolean
}

/** Others see what a transaction has changed when it ends, and not before. */
class Changing extends Context.Reference<Changed | undefined>("agentd/Layers/Repo/Rights/Changing", {
  defaultValue: () => undefined
}) {}

/** What is remembered of all users, and forgotten of those whose rights change. */
const makeMemory = () => {
  const owners = makeRemembered<Option.Some<TokenOwner>>()
  const roles = makeRemembered<Option.Some<Role>>()
  const forget = (userIds: ReadonlySet<UserId> | undefined) => {
    owners.forget(userIds)
    roles.forget(userIds)
  }
  return {
    owners,
    roles,
    forget,
    /** A change of one user, or of who knows whom; whatever comes of it, what was known is forgotten. */
    changing: <A, E, R>(userId: UserId | undefined, change: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Changing, (within) => {
        if (within === undefined) {
          const changed = userId === undefined ? undefined : new Set([userId])
          return Effect.ensuring(
            change,
            Effect.sync(() => forget(changed))
          )
        }
        if (userId === undefined) within.ofAny = true
        else within.users.add(userId)
        return change
      }),
    /** A transaction within which rights may change. */
    together: <A, E, R>(transaction: Effect.Effect<A, E, R>) => {
      const changed: Changed = { users: new Set(), ofAny: false }
      return Effect.ensuring(
        Effect.provideService(transaction, Changing, changed),
        Effect.sync(() => {
          if (changed.ofAny) forget(undefined)
          else if (changed.users.size > 0) forget(changed.users)
        })
      )
    }
  }
}

type Memory = ReturnType<typeof makeMemory>

const makeRights = (
  { owners, roles }: Memory,
  tokens: TokenRepo["Service"],
  workspaces: WorkspaceRepo["Service"]
) => {
  const recall = <A, E>(
    remembered: Remembered<Option.Some<A>>,
    key: string,
    ask: Effect.Effect<Option.Option<A>, E>,
    userOf: (found: A) => UserId
  ): Effect.Effect<Option.Option<A>, E> =>
    Effect.withFiber((fiber) => {
      if (fiber.getRef(Changing) !== undefined) return ask
      const at = monotonicMillisOf(fiber.getRef(Clock.Clock))
      const known = remembered.get(key, at)
      if (known !== undefined) return Effect.succeed(known)
      const keep = remembered.keeping(at)
      return Effect.map(ask, (found) => {
        if (Option.isSome(found)) keep(key, userOf(found.value), found)
        return found
      })
    })
  return Rights.of({
    owned: (hash) => recall(owners, hash, tokens.findOwned(hash), ({ user }) => user.id),
    role: (id, userId) => recall(roles, `${userId} ${id}`, workspaces.role(id, userId), () => userId)
  })
}

/**
 * `Rights` over the repositories beneath, and those repositories and transactions again: whatever changes the rights of
 * a user goes through them, and has that forgotten when it is over, however it ends.
 */
export const layer = Layer.effectContext(
  Effect.gen(function* () {
    const tokens = yield* TokenRepo
    const transaction = yield* Transaction
    const { atomically } = transaction
    const users = yield* UserRepo
    const workspaces = yield* WorkspaceRepo
    const memory = makeMemory()
    const { changing, forget, together } = memory

    const heard = yield* (yield* Signals).subscribe
    yield* Effect.forkScoped(
      Stream.runForEach(heard, (signal) =>
        Effect.sync(() => {
          if (signal.type === "rights") forget(new Set([signal.userId]))
        })
      )
    )

    return Context.make(Rights, makeRights(memory, tokens, workspaces)).pipe(
      Context.add(Transaction, {
        ...transaction,
        atomically: (effect) =>
          Effect.flatMap(Changing, (outer) =>
            outer === undefined ? together(atomically(effect)) : atomically(effect)
          )
      }),
      Context.add(TokenRepo, {
        ...tokens,
        removeOf: (userId) => changing(userId, tokens.removeOf(userId)),
        revoke: (userId, id, at) => changing(userId, tokens.revoke(userId, id, at))
      }),
      Context.add(UserRepo, {
        ...users,
        remove: (id, at) => changing(id, users.remove(id, at)),
        setDisabled: (id, at) => changing(id, users.setDisabled(id, at))
      }),
      Context.add(WorkspaceRepo, {
        ...workspaces,
        addMember: (id, userId, role, at) => changing(userId, workspaces.addMember(id, userId, role, at)),
        removeMember: (id, userId) => changing(undefined, workspaces.removeMember(id, userId)),
        removeMemberships: (user) => changing(user.id, workspaces.removeMemberships(user))
      })
    )
  })
)
