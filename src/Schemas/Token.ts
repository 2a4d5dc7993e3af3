import * as Schema from "effect/Schema"
import { TokenId, UserId } from "./Ids.ts"

/** A bearer token as it is stored: the SHA-256 of the secret in hexadecimal, never the secret. */
export const Token = Schema.Struct({
  id: TokenId,
  userId: UserId,
  name: Schema.String,
  hash: Schema.String,
  createdAt: Schema.Date,
  expiresAt: Schema.NullOr(Schema.Date),
  revokedAt: Schema.NullOr(Schema.Date)
})
export type Token = typeof Token.Type

/** Every secret begins with this, so that people and secret scanners recognise one. */
export const tokenPrefix = "agentd_"

/** Whether a token opens the door at `now`: neither revoked nor past its last moment. */
export const isUsable = (token: Pick<Token, "expiresAt" | "revokedAt">, now: Date): boolean =>
  token.revokedAt === null && (token.expiresAt === null || now.getTime() < token.expiresAt.getTime())

/** Whether a credential has the form of a token, so that nothing else reaches the database. */
export const looksLikeToken = (secret: string): boolean => /^agentd_[A-Za-z0-9_-]{22,128}$/.test(secret)
