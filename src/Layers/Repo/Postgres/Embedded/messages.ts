export interface WorkerOptions {
  readonly directory: string
  /** What a new database is copied from. */
  readonly template: string | undefined
}

/** What the main thread asks of the worker; answered one after the other, in order. */
export type Request =
  /** Whole frames of one client; `newSession` forgets first what another client has left behind. */
  | { readonly kind: "batch"; readonly bytes: Uint8Array<ArrayBuffer>; readonly newSession: boolean }
  | { readonly kind: "close" }

/**
 * What the worker tells. First comes `ready`, `failed` or, where there was no
 * database folder and none to copy, `made`; after the last two nothing follows. Each batch
 * is answered by any number of `data` and exactly one `end`; `closed` is the last.
 */
export type Reply =
  | { readonly kind: "made" }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "data"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "end"; readonly fsyncs: number }
  | { readonly kind: "closed" }

/** Exit codes of the worker that have a meaning of their own. */
export const exitCodes = { diskFailed: 74, aborted: 70 } as const
