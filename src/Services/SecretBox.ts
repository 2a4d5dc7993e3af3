import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** Secrets can't be sealed or opened, in words for the caller that hide the secret. */
export class SecretBoxError extends Schema.TaggedError<SecretBoxError>()("SecretBoxError", {
  error: Schema.String
}) {}

/** Seals secrets at rest. */
export class SecretBox extends Context.Service<
  SecretBox,
  {
    /**
     * Encrypts and authenticates the secret, bound to `row`: it opens only for the row that it was sealed
     * for. Sealing twice gives different texts.
     */
    readonly seal: (row: string, secret: Redacted.Redacted) => Effect.Effect<string, SecretBoxError>
    /** Opens what any key of the ring has sealed for this row. */
    readonly open: (row: string, sealed: string) => Effect.Effect<Redacted.Redacted, SecretBoxError>
    /** Which key has sealed a text: the one that seals now, another one of any ring, or none since it is not sealed. */
    readonly sealedBy: (sealed: string) => Effect.Effect<"current" | "another" | "none">
    /**
     * Makes a new key that seals from now on; the one before still opens, also after a restart or `kill -9` at any
     * moment. Refused where the operator gives the key.
     */
    readonly renew: Effect.Effect<void, SecretBoxError>
  }
>()("agentd/Services/SecretBox") {}
