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

/** How much of the WAL a start has to replay, and how much of that is done, in bytes. */
export interface Recovery {
  readonly replayed: number
  readonly total: number
}

/**
 * What the worker tells. While it opens the database it says now and then, with `opening`, that it gets on. Then comes `ready`, `failed` or, where there was no
 * database folder and none to copy, `made`; after the last two nothing follows. Each batch
 * is answered by any number of `data` and exactly one `end`; `closed` is the last.
 */
export type Reply =
  | { readonly kind: "opening"; readonly recovery: Recovery | undefined }
  | { readonly kind: "made" }
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "data"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** `wal` is how far it is written, as a position; 0 where nothing was yet. */
  | { readonly kind: "end"; readonly fsyncs: number; readonly wal: number }
  | { readonly kind: "closed" }

/** Exit codes of the worker that have a meaning of their own. */
export const exitCodes = { diskFailed: 74, aborted: 70 } as const
