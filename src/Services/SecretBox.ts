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
  }
>()("agentd/Services/SecretBox") {}
