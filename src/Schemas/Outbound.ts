import * as Schema from "effect/Schema"

/** An address that the service does not connect to, in words for the user who set it. */
export class AddressRefused extends Schema.TaggedError<AddressRefused>()("AddressRefused", {
  error: Schema.String,
  /** There is no such host, or none that may be asked, which is told apart to nobody; it may be otherwise later. */
  isAway: Schema.optionalKey(Schema.Boolean)
}) {}

/** The refusal at the bottom of a failed request, if that is why it failed. */
export const refusalOf = (failure: unknown): AddressRefused | undefined => {
  let cause = failure
  for (let depth = 0; depth < 10 && typeof cause === "object" && cause !== null; depth++) {
    if (cause instanceof AddressRefused) return cause
    cause = "cause" in cause ? cause.cause : undefined
  }
  return undefined
}
