import * as Context from "effect/Context"
import * as Cors from "../Schemas/Cors.ts"
import { type Networks, none } from "../Schemas/Networks.ts"
import { type Quotas, quotas } from "../Schemas/Quotas.ts"
import type { RunKind } from "../Schemas/Run.ts"
import { millisOf, type Whole } from "../Schemas/Setting.ts"
import { type NameOf, settings } from "../Schemas/SettingsTable.ts"
import type { Shares } from "./RunRepo.ts"

const whole = (name: NameOf<Whole<number>>): number => settings[name].fallback

const time = (name: NameOf<Whole<number>>): number => millisOf(settings[name], whole(name))

/** What an operator can set (`Schemas/SettingsTable.ts`), and a few bounds that nobody sets. Times are in milliseconds. */
export interface SettingsShape {
  /** The name under which this process holds runs and turns. */
  readonly worker: string
  readonly leaseMillis: number
  /** How many runs this process executes at once; more wait. */
  readonly runConcurrency: number
  /** How many chat turns this process answers at once; more wait. */
  readonly turnConcurrency: number
  /** How long the events of a run can be read after it is over. */
  readonly eventMillis: number
  /** How long the journal and the approvals of a run are kept after it is over. */
  readonly journalMillis: number
  /** How long a run is kept after it is over, with all that belongs to it; null: for ever. */
  readonly runMillis: number | null
  /** How many runs of one workspace execute at once, on all nodes together. */
  readonly runsPerWorkspace: number
  /** How many chat turns of one workspace are answered at once, on all nodes together. */
  readonly turnsPerWorkspace: number
  /** How many runs, and as many turns, execute at once in all workspaces that one user made, on all nodes together. */
  readonly runsPerOwner: number
  /** How much there may be of what workspaces and users have. */
  readonly quotas: Quotas
  /** For how long a run or turn may be worked on, all its executions together. */
  readonly runMaxMillis: number
  /** How often in a row a run may lose its worker, as `Schemas/RunLoss.ts` counts it, before it is given up. */
  readonly maxCrashes: number
  /** How long a run waits for somebody to decide about a tool call. */
  readonly approvalMillis: number
  readonly drainMillis: number
  /** How long the ledger of cron jobs keeps a slot. */
  readonly cronLedgerMillis: number
  /** How long the audit log keeps an entry. */
  readonly auditMillis: number
  /** How long a delivery of a webhook is kept after what it tells of. */
  readonly webhookMillis: number
  /** How long an `Idempotency-Key` is known. */
  readonly idempotencyMillis: number
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
  /** Requests in a minute of one token, and refused ones of one address, on this node; 0 is any number. */
  readonly ratePerMinute: number
  readonly anonymousPerMinute: number
  /** The peers whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: Networks
  /** The other origins whose pages browsers let ask. */
  readonly corsOrigins: Cors.Origins
  /** Whether addresses that users set may lie in private networks, or the list of those (`AGENTD_ALLOW_PRIVATE_ADDRESSES`). */
  readonly allowPrivateAddresses: boolean | string
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
    leaseMillis: time("AGENTD_LEASE_SECONDS"),
    runConcurrency: whole("AGENTD_RUN_CONCURRENCY"),
    turnConcurrency: whole("AGENTD_TURN_CONCURRENCY"),
    eventMillis: time("AGENTD_EVENT_HOURS"),
    journalMillis: time("AGENTD_JOURNAL_HOURS"),
    runMillis: settings.AGENTD_RUN_DAYS.fallback,
    runsPerWorkspace: whole("AGENTD_RUNS_PER_WORKSPACE"),
    turnsPerWorkspace: whole("AGENTD_TURNS_PER_WORKSPACE"),
    runsPerOwner: whole("AGENTD_RUNS_PER_OWNER"),
    quotas,
    runMaxMillis: time("AGENTD_RUN_MAX_SECONDS"),
    maxCrashes: 4,
    approvalMillis: time("AGENTD_APPROVAL_HOURS"),
    drainMillis: time("AGENTD_DRAIN_SECONDS"),
    cronLedgerMillis: time("AGENTD_CRON_LEDGER_DAYS"),
    auditMillis: time("AGENTD_AUDIT_DAYS"),
    webhookMillis: time("AGENTD_WEBHOOK_DAYS"),
    idempotencyMillis: time("AGENTD_IDEMPOTENCY_HOURS"),
    maxSteps: whole("AGENTD_MAX_STEPS"),
    modelTimeoutMillis: time("AGENTD_MODEL_TIMEOUT_SECONDS"),
    modelIdleMillis: time("AGENTD_MODEL_IDLE_SECONDS"),
    toolTimeoutMillis: time("AGENTD_TOOL_TIMEOUT_SECONDS"),
    toolWaitMillis: time("AGENTD_TOOL_WAIT_SECONDS"),
    memorySearchMillis: 5_000,
    toolConcurrency: 8,
    historyTokens: whole("AGENTD_HISTORY_TOKENS"),
    ratePerMinute: whole("AGENTD_RATE_PER_MINUTE"),
    anonymousPerMinute: whole("AGENTD_ANONYMOUS_PER_MINUTE"),
    trustedProxies: none,
    corsOrigins: Cors.none,
    allowPrivateAddresses: false,
    maxOutputLength: 1_000_000,
    databasePool: whole("AGENTD_DATABASE_POOL"),
    databaseTimeoutMillis: time("AGENTD_DATABASE_TIMEOUT_SECONDS")
  }
}

/** How many runs of a kind there may be at once, in a workspace and of an owner. */
export const sharesOf = (
  {
    runsPerOwner,
    runsPerWorkspace,
    turnsPerWorkspace
  }: Pick<SettingsShape, "runsPerOwner" | "runsPerWorkspace" | "turnsPerWorkspace">,
  kind: RunKind
): Required<Shares> => ({
  perWorkspace: kind === "task" ? runsPerWorkspace : turnsPerWorkspace,
  perOwner: runsPerOwner
})
