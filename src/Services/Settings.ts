import * as Context from "effect/Context"

/** What an operator can set; see docs/operations.md. Times are in milliseconds. */
export interface SettingsShape {
  /** The name under which this process holds runs and turns. */
  readonly worker: string
  readonly leaseMillis: number
  readonly runConcurrency: number
  /** How many chat turns this process answers at once; more wait. */
  readonly turnConcurrency: number
  /** How long the events of a run can be read after it is over. */
  readonly eventMillis: number
  /** How long the journal and the approvals of a run are kept after it is over. */
  readonly journalMillis: number
  /** How many runs of one workspace execute at once, on all nodes together. */
  readonly runsPerWorkspace: number
  /** How often in a row a run may lose its worker, as `Schemas/RunLoss.ts` counts it, before it is given up. */
  readonly maxCrashes: number
  /** How long a run waits for somebody to decide about a tool call. */
  readonly approvalMillis: number
  readonly drainMillis: number
  /** How long the ledger of cron jobs keeps a slot. */
  readonly cronLedgerMillis: number
  readonly maxSteps: number
  readonly modelTimeoutMillis: number
  /** How long a model may send nothing at all before its answer counts as broken off. */
  readonly modelIdleMillis: number
  readonly toolTimeoutMillis: number
  /** How long a task waits for a tool that can't be had. */
  readonly toolWaitMillis: number
  /** How long the database may take over one search of the memory, out of `toolTimeoutMillis`. */
  readonly memorySearchMillis: number
  /** How many tool calls of one model answer run at the same time. */
  readonly toolConcurrency: number
  /** How much of a conversation a model is shown, in tokens as `Schemas/Prompt.ts` estimates them. */
  readonly historyTokens: number
  /** Whether addresses that users set may lie in private networks (`AGENTD_ALLOW_PRIVATE_ADDRESSES`). */
  readonly allowPrivateAddresses: boolean
  /** The longest text that one run or chat turn may produce, in UTF-16 code units. */
  readonly maxOutputLength: number
  /** How many connections to a PostgreSQL this process may open. */
  readonly databasePool: number
  /**
   * How long a request may wait for the database, all its calls together, before it is answered 503; and each call
   * that belongs to no request (`DatabaseWait`).
   */
  readonly databaseTimeoutMillis: number
}

export class Settings extends Context.Service<Settings, SettingsShape>()("agentd/Services/Settings") {
  /** The documented defaults, which tests start from. */
  static readonly defaults: SettingsShape = {
    worker: "node",
    leaseMillis: 15_000,
    runConcurrency: 16,
    turnConcurrency: 256,
    eventMillis: 24 * 60 * 60 * 1000,
    journalMillis: 30 * 24 * 60 * 60 * 1000,
    runsPerWorkspace: 8,
    maxCrashes: 4,
    approvalMillis: 24 * 60 * 60 * 1000,
    drainMillis: 10_000,
    cronLedgerMillis: 90 * 24 * 60 * 60 * 1000,
    maxSteps: 50,
    modelTimeoutMillis: 120_000,
    modelIdleMillis: 60_000,
    toolTimeoutMillis: 60_000,
    toolWaitMillis: 300_000,
    memorySearchMillis: 5_000,
    toolConcurrency: 8,
    historyTokens: 100_000,
    allowPrivateAddresses: false,
    maxOutputLength: 1_000_000,
    databasePool: 10,
    databaseTimeoutMillis: 10_000
  }
}
