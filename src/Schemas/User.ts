import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { UserId } from "./Ids.ts"
import { textProblem } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** An e-mail address, compared without regard to case: it is kept in lower case. */
export const Email = Schema.String.check(
  Schema.makeFilter(
    (value: string) =>
      textProblem(value, 3, 254) ??
      (/^[^\s@]+@[^\s@]+$/u.test(value) ? undefined : "must be an e-mail address"),
    { toJsonSchema: () => ({ minLength: 3, maxLength: 254 }) }
  )
).pipe(Schema.brand("Email"))
export type Email = typeof Email.Type

const decodeEmail = Schema.decodeUnknownOption(Email)

/** As it is kept, however it was written; none: it is no e-mail address. */
export const toEmail = (written: string): Option.Option<Email> => decodeEmail(written.trim().toLowerCase())

export const User = Schema.Struct({ id: UserId, email: Email, createdAt: Timestamp })
export type User = typeof User.Type

/** A user as an operator sees it: one who is disabled can't sign in. */
export const UserRecord = Schema.Struct({ ...User.fields, disabledAt: Schema.NullOr(Timestamp) })
export type UserRecord = typeof UserRecord.Type

/** What stands for the e-mail of a user who is gone: nobody can have it, and that of before is free again. */
export const emailOfGone = (id: UserId): Email => Email.make(`${id}@deleted.invalid`)
