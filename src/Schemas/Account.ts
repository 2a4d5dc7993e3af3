import * as Schema from "effect/Schema"
import { TokenId, UserId, WorkspaceId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"
import { maxTokenDays, type OwnedToken } from "./Token.ts"
import type { UserRecord } from "./User.ts"
import { Plan, Role, type Workspace } from "./Workspace.ts"

/** What the first start makes, and `bootstrap` prints (CONTRACT.md section 1). */
export const Credentials = Schema.Struct({
  baseUrl: Schema.String,
  userId: UserId,
  workspaceId: WorkspaceId,
  token: Schema.String
})
export type Credentials = typeof Credentials.Type

/** A user with a token: the only time that the token is shown. */
export const UserToken = Schema.Struct({ userId: UserId, email: Schema.String, token: Schema.String })
export type UserToken = typeof UserToken.Type

/** What signs a user in once: the only time that the link is shown. */
export const UserLink = Schema.Struct({
  userId: UserId,
  email: Schema.String,
  url: Schema.String,
  expiresAt: Timestamp
})
export type UserLink = typeof UserLink.Type

export const WorkspaceSummary = Schema.Struct({
  workspaceId: WorkspaceId,
  name: Schema.String,
  plan: Plan
})
export type WorkspaceSummary = typeof WorkspaceSummary.Type

/** A user in a list: one who is disabled can't sign in. */
export const UserSummary = Schema.Struct({
  userId: UserId,
  email: Schema.String,
  createdAt: Timestamp,
  disabledAt: Schema.NullOr(Timestamp)
})
export type UserSummary = typeof UserSummary.Type

export const toUserSummary = ({ createdAt, disabledAt, email, id }: UserRecord): UserSummary => ({
  userId: id,
  email,
  createdAt,
  disabledAt
})

/** A token in a list. Its secret is nowhere. */
export const TokenSummary = Schema.Struct({
  tokenId: TokenId,
  name: Schema.String,
  userId: UserId,
  email: Schema.String,
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp)
})
export type TokenSummary = typeof TokenSummary.Type

export const toTokenSummary = (token: OwnedToken): TokenSummary => ({
  tokenId: token.id,
  name: token.name,
  userId: token.userId,
  email: token.email,
  createdAt: token.createdAt,
  expiresAt: token.expiresAt
})

/** A workspace in a list. */
export const WorkspaceLine = Schema.Struct({ ...WorkspaceSummary.fields, createdAt: Timestamp })
export type WorkspaceLine = typeof WorkspaceLine.Type

export const toWorkspaceLine = ({ createdAt, id, name, plan }: Workspace): WorkspaceLine => ({
  workspaceId: id,
  name,
  plan,
  createdAt
})

/** A part of a list. `more`: there is something behind the last item. */
export const Listed = Schema.Struct({
  items: Schema.Array(Schema.Union([TokenSummary, WorkspaceLine, UserSummary])),
  more: Schema.Boolean
})
export type Listed = typeof Listed.Type

/** How many items a list of the command line shows, at most and where nobody says. */
export const listLimits = { maximum: 1000, fallback: 100 }

/** What is there no more: a user with its e-mail of before, a token. */
export const UserGone = Schema.Struct({ userId: UserId, email: Schema.String, deletedAt: Timestamp })
export const TokenGone = Schema.Struct({
  tokenId: TokenId,
  name: Schema.String,
  userId: UserId,
  email: Schema.String
})

export const Membership = Schema.Struct({ workspaceId: WorkspaceId, userId: UserId, role: Role })

/** What a list shows: up to `limit` items behind the one with the id `after`. */
const Range = {
  after: Schema.NullOr(Schema.String),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: listLimits.maximum }))
}
const OfOneOrAll = { email: Schema.NullOr(Schema.String), ...Range }

export const AccountCommand = Schema.Union([
  Schema.Struct({ command: Schema.Literal("bootstrap"), email: Schema.String, baseUrl: Schema.String }),
  Schema.Struct({
    command: Schema.Literal("user create"),
    email: Schema.String,
    workspace: Schema.NullOr(WorkspaceId)
  }),
  Schema.Struct({
    command: Schema.Literal("token create"),
    email: Schema.String,
    expiresInDays: Schema.NullOr(Schema.Finite)
  }),
  Schema.Struct({ command: Schema.Literal("sign-in link"), email: Schema.String, baseUrl: Schema.String }),
  Schema.Struct({
    command: Schema.Literal("workspace create"),
    name: Schema.String,
    owner: Schema.String,
    plan: Plan
  }),
  Schema.Struct({ command: Schema.Literal("workspace plan"), workspace: WorkspaceId, plan: Plan }),
  Schema.Struct({
    command: Schema.Literal("workspace member"),
    workspace: WorkspaceId,
    email: Schema.String,
    role: Role
  }),
  Schema.Struct({ command: Schema.Literal("user list"), ...Range }),
  Schema.Struct({
    command: Schema.Literals(["user disable", "user enable", "user delete"]),
    email: Schema.String
  }),
  Schema.Struct({ command: Schema.Literal("token list"), ...OfOneOrAll }),
  Schema.Struct({ command: Schema.Literal("token revoke"), token: TokenId }),
  Schema.Struct({ command: Schema.Literal("workspace list"), ...OfOneOrAll })
])
export type AccountCommand = typeof AccountCommand.Type

export const AccountResult = Schema.Union([
  Credentials,
  UserToken,
  UserLink,
  UserSummary,
  UserGone,
  TokenGone,
  Membership,
  WorkspaceSummary,
  Listed
])
export type AccountResult = typeof AccountResult.Type

/** Why a command was not carried out, in a sentence for the operator. */
export class AccountError extends Schema.TaggedError<AccountError>()("AccountError", {
  error: Schema.String
}) {}

/** Days of a duration such as `30d`, `12h` or `2w`; undefined for anything else. */
export const daysOf = (duration: string): number | undefined => {
  const [, amount, unit] = /^([1-9]\d{0,4})([hdw])$/u.exec(duration) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const days = Number(amount) * { h: 1 / 24, d: 1, w: 7 }[unit as "h" | "d" | "w"]
  return days > 0 && days <= maxTokenDays ? days : undefined
}
