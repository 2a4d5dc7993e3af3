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

export const User = Schema.Struct({ id: UserId, email: Email, createdAt: Timestamp })
export type User = typeof User.Type
