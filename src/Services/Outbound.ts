import * as Context from "effect/Context"

/** What is posted; `signal` breaks it off, up to the headers of the answer. */
export interface Posted {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal: AbortSignal
}

export interface Answered {
  readonly status: number
  /**
   * Has to be called: reads the body so far, in bytes, that its connection serves the next, or closes it, also when the
   * signal says so. Never rejects.
   */
  readonly letGo: (bytes: number, signal: AbortSignal) => Promise<void>
}

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
    /**
     * Posts bytes as `guarded` does, for a third of the CPU: of the answer nothing but the status is to be had, and
     * redirects are not followed.
     */
    readonly post: (url: string, request: Posted) => Promise<Answered>
    /** `fetch` for addresses that the operator has set: any address. */
    readonly trusted: typeof globalThis.fetch
  }
>()("agentd/Services/Outbound") {}
