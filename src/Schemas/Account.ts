import * as Schema from "effect/Schema"
import { UserId, WorkspaceId } from "./Ids.ts"
import { maxTokenDays } from "./Token.ts"
import { Plan } from "./Workspace.ts"

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

export const WorkspaceSummary = Schema.Struct({
  workspaceId: WorkspaceId,
  name: Schema.String,
  plan: Plan
})
export type WorkspaceSummary = typeof WorkspaceSummary.Type

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
  Schema.Struct({
    command: Schema.Literal("workspace create"),
    name: Schema.String,
    owner: Schema.String,
    plan: Plan
  }),
  Schema.Struct({ command: Schema.Literal("workspace plan"), workspace: WorkspaceId, plan: Plan })
])
export type AccountCommand = typeof AccountCommand.Type

export const AccountResult = Schema.Union([Credentials, UserToken, WorkspaceSummary])
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
