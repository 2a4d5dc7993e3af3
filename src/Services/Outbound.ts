import * as Context from "effect/Context"

/**
 * The way out to other servers: every request that the service makes for its users goes through here.
 * Both follow redirects within the origin only, so that no credential reaches another server.
 */
export class Outbound extends Context.Service<
  Outbound,
  {
    /**
     * `fetch` for addresses that a user can set. Connects to public addresses only, unless the operator
     * allows private ones: checked for the address really connected to, after DNS, at each redirect
     * (CONTRACT.md section 7). A refusal rejects with an `AddressRefused` as the (nested) cause.
     */
    readonly guarded: typeof globalThis.fetch
    /** `fetch` for addresses that the operator has set: any address. */
    readonly trusted: typeof globalThis.fetch
  }
>()("agentd/Services/Outbound") {}
