/** When a delivery that was not taken is attempted again, and when no more (CONTRACT.md section 12). Pure. */

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** After the first attempt, the second, and so on; after the last of all it is over. */
const pauses = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour
]

export const mostAttempts = pauses.length + 1

/** A webhook of which every attempt has failed for so long is switched off. */
export const failingMillis = 5 * 24 * hour

/** How far from the table a pause may be, so that what failed together does not come back together. */
const spread = 0.1

/** How long after this attempt the next one is, or undefined where it was the last; `random` is from 0 up to 1. */
export const pauseAfter = (attempt: number, random: number): number | undefined => {
  const pause = pauses[attempt - 1]
  return pause === undefined ? undefined : Math.round(pause * (1 - spread + 2 * spread * random))
}

/** What becomes of a delivery by what the receiver has answered; null: it has not. */
export const outcomeOf = (
  statusCode: number | null,
  attempt: number,
  random: number
):
  | { readonly type: "delivered" | "failed" | "gone" }
  | { readonly type: "retry"; readonly afterMillis: number } => {
  if (isTaken(statusCode)) return { type: "delivered" }
  if (statusCode === 410) return { type: "gone" }
  const afterMillis = pauseAfter(attempt, random)
  return afterMillis === undefined ? { type: "failed" } : { type: "retry", afterMillis }
}

const isTaken = (statusCode: number | null): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300

/** Why an answer was none that counts, for the owner of the webhook; null: it counts. */
export const refusalOf = (statusCode: number): string | null => {
  if (isTaken(statusCode)) return null
  if (statusCode === 410)
    return "the receiver answered 410: it wants no more, and the webhook is switched off"
  const reason = statusCode >= 300 && statusCode < 400 ? ": redirects are not followed" : ""
  return `the receiver answered ${statusCode}${reason}`
}
