import * as Schema from "effect/Schema"
import { TokenId, UserId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import type { User } from "./User.ts"

/** A bearer token as it is stored: the SHA-256 of the secret in hexadecimal, never the secret. */
export const Token = Schema.Struct({
  id: TokenId,
  userId: UserId,
  /** The token by which this one was made, and with which it is revoked; null: an operator made it. */
  parentId: Schema.NullOr(TokenId),
  name: Schema.String,
  hash: Schema.String,
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
  revokedAt: Schema.NullOr(Timestamp)
})
export type Token = typeof Token.Type

/** A user, and the token that was shown for it. */
export interface Caller extends User {
  readonly token: Pick<Token, "id" | "expiresAt">
}

/** Every secret begins with this, so that people and secret scanners recognise one. */
export const tokenPrefix = "agentd_"

/** The text without tokens that somebody has put there: of each its prefix alone. */
export const maskTokens = (text: string): string =>
  text.replaceAll(new RegExp(`${tokenPrefix}[\\w-]{22,}`, "gu"), `${tokenPrefix}…`)

/** Whether a token opens the door at `now`: neither revoked nor past its last moment. */
export const isUsable = (token: Pick<Token, "expiresAt" | "revokedAt">, now: Date): boolean =>
  token.revokedAt === null && (token.expiresAt === null || now.getTime() < token.expiresAt.getTime())

/** When a token ends that another makes: with that one at the latest. Null: never (CONTRACT.md section 8). */
export const endOfMade = (asked: Date | null, parent: Pick<Token, "expiresAt">): Date | null =>
  asked === null || (parent.expiresAt !== null && parent.expiresAt.getTime() < asked.getTime())
    ? parent.expiresAt
    : asked

/** Somebody reads what is of a workspace, by a token. */
export const Reading = Schema.Struct({ tokenId: TokenId, workspaceId: WorkspaceId })
export type Reading = typeof Reading.Type

/** Whether a credential has the form of a token, so that nothing else reaches the database. */
export const looksLikeToken = (secret: string): boolean => /^agentd_[A-Za-z0-9_-]{22,128}$/.test(secret)

/** The longest life that a token can be given on purpose: ten years. */
export const maxTokenDays = 3650

export const TokenView = Schema.Struct({
  id: TokenId,
  name: Schema.String,
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "Token" })
export type TokenView = typeof TokenView.Type

/** A token with its user, as an operator sees it. */
export const OwnedToken = Schema.Struct({ ...TokenView.fields, userId: UserId, email: Schema.String })
export type OwnedToken = typeof OwnedToken.Type

/** A new token: the only time that the secret is shown. */
export const NewToken = Schema.Struct({ ...TokenView.fields, token: Schema.String }).annotate({
  identifier: "NewToken"
})
export type NewToken = typeof NewToken.Type

export const CreateToken = Schema.Struct({
  name: text(1, 100),
  expiresInDays: Schema.optionalKey(
    Schema.NullOr(
      Schema.Int.check(
        Schema.makeFilter(
          (value: number) =>
            value >= 1 && value <= maxTokenDays
              ? undefined
              : `must be a whole number from 1 to ${maxTokenDays}`,
          { toJsonSchema: () => ({ minimum: 1, maximum: maxTokenDays }) }
        )
      )
    )
  )
}).annotate({ identifier: "CreateToken" })
export type CreateToken = typeof CreateToken.Type

export const toTokenView = ({ createdAt, expiresAt, id, name }: Token): TokenView => ({
  id,
  name,
  createdAt,
  expiresAt
})
