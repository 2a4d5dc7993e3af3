import * as Flag from "effect/cli/Flag"
import { listLimits } from "../../../Schemas/Account.ts"

/** What is written alike in every command. */

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON object, or an array for a list, and nothing else"),
  Flag.withDefault(false)
)

export const email = Flag.String("email").pipe(Flag.withDescription("E-mail address of the user"))

/** Of a list that can be of one user. */
export const ofEmail = Flag.String("email").pipe(
  Flag.withDescription("E-mail address of the user whose they are (everybody's)"),
  Flag.optional
)

/** Of every list, of things whose ids begin so. */
export const range = (prefix: string) => ({
  limit: Flag.Int("limit").pipe(
    Flag.withDescription(`How many to show, 1 to ${listLimits.maximum} (${listLimits.fallback})`),
    Flag.filter(
      (limit) => limit >= 1 && limit <= listLimits.maximum,
      () => `a whole number from 1 to ${listLimits.maximum}`
    ),
    Flag.withDefault(listLimits.fallback)
  ),
  after: Flag.String("after").pipe(
    Flag.withDescription("Id of the last one seen: show those behind it"),
    Flag.filter(
      (after) => after.startsWith(prefix),
      () => `an id that begins with ${prefix}`
    ),
    Flag.optional
  )
})
