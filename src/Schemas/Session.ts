import * as Schema from "effect/Schema"
import { TokenId, UserId } from "./Ids.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a caller is told of a session: the token that it is kept by is in the cookie alone. */
export const Session = Schema.Struct({ userId: UserId, email: Schema.String, expiresAt: Timestamp }).annotate(
  {
    identifier: "Session"
  }
)
export type Session = typeof Session.Type

/** Whose token or session a request has, which of them, and until when that works. Null: for ever. */
export const SignedIn = Schema.Struct({
  userId: UserId,
  email: Schema.String,
  tokenId: TokenId,
  expiresAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "SignedIn" })
export type SignedIn = typeof SignedIn.Type

/** A link that signs a user in once, as it is stored: the SHA-256 of its code in hexadecimal, never the code. */
export interface SignInLink {
  readonly hash: string
  readonly userId: UserId
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** For how long a link signs in. */
export const linkMillis = 3_600_000

/** Whether it has the form of a code, so that nothing else reaches the database: 256 bits in Base64Url. */
export const looksLikeCode = (code: string): boolean => /^[A-Za-z0-9_-]{43}$/u.test(code)

export const SignInByLink = Schema.Struct({ code: text(1, 1_000) }).annotate({ identifier: "SignInByLink" })
export type SignInByLink = typeof SignInByLink.Type

/** A link as it is opened: the console has its code, and no server is told of what is behind `#`. */
export const linkOf = (baseUrl: string, code: string): string =>
  `${baseUrl.replace(/\/+$/u, "")}/#/sign-in/${code}`

/** Whether proxies say that the browser came over https: of a list the first is about the browser. */
export const isForwardedHttps = (forwardedProto: string | undefined): boolean =>
  forwardedProto?.split(",")[0]?.trim().toLowerCase() === "https"
