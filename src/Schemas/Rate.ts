import { RateLimited } from "./Errors.ts"

/** How many requests there may be in a minute (CONTRACT.md section 10): 0 is any number. */
export interface RatePolicy {
  /**
   * As `RateLimit-Policy` names it: `default` is of a token, `anonymous` of the refused ones of an address. `check` is
   * of looks at a connector and `invitation` of what a user invites, both told in a refusal alone.
   */
  readonly name: "default" | "anonymous" | "check" | "invitation"
  readonly perMinute: number
  /** How many there may be at once; unset: a minute's worth. */
  readonly atOnce?: number
}

/** How much a bucket of the policy holds. */
export const holds = ({ atOnce, perMinute }: RatePolicy): number => atOnce ?? perMinute

const windowSeconds = 60
const windowMillis = windowSeconds * 1000

/** How much was in a bucket at a moment of the monotonic clock, in milliseconds. Below 0 it owes. */
export interface Bucket {
  readonly level: number
  readonly at: number
}

/** A bucket is full at first, and is filled again evenly. */
export const levelAt = (policy: RatePolicy, bucket: Bucket | undefined, at: number): number =>
  bucket === undefined
    ? holds(policy)
    : Math.min(holds(policy), bucket.level + ((at - bucket.at) * policy.perMinute) / windowMillis)

/** How a bucket stands: what a caller is told. */
export interface Rate {
  readonly policy: RatePolicy
  /** Whole requests that are left. */
  readonly remaining: number
  /** Whole seconds until there is one more; 0 where no more fit in. */
  readonly seconds: number
}

/** Who waits so long finds at least one more. */
export const rateOf = (policy: RatePolicy, level: number): Rate => {
  const remaining = Math.max(0, Math.floor(level))
  const missing = level >= holds(policy) ? 0 : remaining + 1 - level
  return { policy, remaining, seconds: Math.ceil((missing * windowSeconds) / policy.perMinute) }
}

/** The header fields of draft-ietf-httpapi-ratelimit-headers-11 that tell of it. */
export const rateHeaders = ({ policy: { name, perMinute }, remaining, seconds }: Rate) => ({
  "ratelimit-policy": `"${name}";q=${perMinute};w=${windowSeconds}`,
  ratelimit: `"${name}";r=${remaining};t=${seconds}`
})

const sentences: Readonly<Record<RatePolicy["name"], string>> = {
  default: "too many requests with this token",
  anonymous: "too many requests without a valid credential from this address",
  check: "too many checks of this connector",
  invitation: "email: you have invited too many"
}

/** For who is over it. */
export const limited = ({ policy: { atOnce, name, perMinute }, seconds }: Rate): RateLimited => {
  const first = atOnce === undefined ? "" : `${atOnce} at once, and then `
  return new RateLimited({
    error: `${sentences[name]}: there may be ${first}${perMinute} in a minute; try again in ${seconds} s`,
    retryAfter: seconds
  })
}
