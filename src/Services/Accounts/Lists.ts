import * as Effect from "effect/Effect"
import {
  type AccountCommand,
  type Listed,
  toTokenSummary,
  toUserSummary,
  toWorkspaceLine
} from "../../Schemas/Account.ts"
import type { TokenId, UserId, WorkspaceId } from "../../Schemas/Ids.ts"
import type { User } from "../../Schemas/User.ts"
import { now } from "../CurrentTime.ts"
import { TokenRepo } from "../TokenRepo.ts"
import { UserRepo } from "../UserRepo.ts"
import { WorkspaceRepo } from "../WorkspaceRepo.ts"

type Command = Extract<AccountCommand, { readonly limit: number }>

/** The lists of the command line, a part at a time: nobody holds 100,000 users in memory. */
export const makeLists = Effect.gen(function* () {
  const tokens = yield* TokenRepo
  const users = yield* UserRepo
  const workspaces = yield* WorkspaceRepo

  /** `of` is whose they are; null: everybody's. */
  return Effect.fnUntraced(function* (command: Command, of: User | null) {
    const range = { userId: of?.id ?? null, limit: command.limit + 1 }
    switch (command.command) {
      case "user list": {
        const found = yield* users.page({ ...range, after: command.after as UserId | null })
        return listed(found.map(toUserSummary), command.limit)
      }
      case "token list": {
        const after = command.after as TokenId | null
        const found = yield* tokens.page({ ...range, after, now: yield* now })
        return listed(found.map(toTokenSummary), command.limit)
      }
      case "workspace list": {
        const found = yield* workspaces.page({ ...range, after: command.after as WorkspaceId | null })
        return listed(found.map(toWorkspaceLine), command.limit)
      }
    }
  })
})

/** Out of one item more than is asked for. */
const listed = (found: Listed["items"], limit: number): Listed => ({
  items: found.slice(0, limit),
  more: found.length > limit
})
