import { randomUUID } from "node:crypto"
import { resolve } from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Cors from "../Schemas/Cors.ts"
import * as Networks from "../Schemas/Networks.ts"
import { readQuotas } from "../Schemas/QuotaSetting.ts"
import { millisOf } from "../Schemas/Setting.ts"
import { type SettingName, settings } from "../Schemas/SettingsTable.ts"
import { Settings } from "../Services/Settings.ts"
import { choice, flag, time, whole, word } from "./Settings/Readers.ts"

const networks = (name: SettingName) =>
  word(name).pipe(
    Config.map((value) => Networks.parse(value) ?? Networks.none),
    Config.withDefault(Networks.none)
  )

const addressOf = (name: SettingName) =>
  word(name).pipe(
    Config.map((value) => Redacted.make(value)),
    Config.option
  )

/** Which database: the address of a PostgreSQL, or the folder of the embedded one (CONTRACT.md section 1). */
export const database = Config.all({
  url: addressOf("DATABASE_URL"),
  read: addressOf("DATABASE_READ_URL"),
  direct: addressOf("DATABASE_DIRECT_URL"),
  dataDir: word("AGENTD_DATA_DIR").pipe(
    Config.withDefault(settings.AGENTD_DATA_DIR.fallback),
    Config.map((path) => resolve(path))
  )
})

/** Whether to start though keys are missing that have sealed what is stored. */
export const allowLostSecrets = flag("AGENTD_ALLOW_LOST_SECRETS")

/** How the log is written, and from which level on (CONTRACT.md section 13). */
export const logging = Config.all({
  format: choice("AGENTD_LOG_FORMAT").pipe(Config.option),
  level: choice("AGENTD_LOG_LEVEL").pipe(Config.withDefault(settings.AGENTD_LOG_LEVEL.fallback))
})

/** Where to listen. */
export const address = Config.all({
  host: word("HOST").pipe(Config.withDefault(settings.HOST.fallback)),
  port: whole("PORT")
})

/** Connections of a node to PostgreSQL. */
export const databasePool = whole("AGENTD_DATABASE_POOL")

const privateAddresses = word("AGENTD_ALLOW_PRIVATE_ADDRESSES").pipe(
  Config.withDefault(settings.AGENTD_ALLOW_PRIVATE_ADDRESSES.fallback),
  Config.map((value) => (value === "false" ? false : value === "true" || value))
)

const { defaults } = Settings

/** Its database answers one statement at a time. */
const embeddedRunConcurrency = 64

/** The settings of this process, from its environment. */
export const layer = Layer.effect(
  Settings,
  Effect.gen(function* () {
    const { url } = yield* database
    // Where to listen is needed last, but a mistake in it should not cost a database first.
    yield* address
    const databaseTimeoutMillis = yield* time("AGENTD_DATABASE_TIMEOUT_SECONDS")
    return Settings.of({
      // An embedded database has one process, so whatever a former one held is this one's.
      worker: Option.isNone(url) ? "embedded" : `node_${randomUUID()}`,
      leaseMillis: yield* time("AGENTD_LEASE_SECONDS"),
      runConcurrency: yield* whole(
        "AGENTD_RUN_CONCURRENCY",
        Option.isNone(url) ? embeddedRunConcurrency : defaults.runConcurrency
      ),
      turnConcurrency: yield* whole("AGENTD_TURN_CONCURRENCY"),
      eventMillis: yield* time("AGENTD_EVENT_HOURS"),
      journalMillis: yield* time("AGENTD_JOURNAL_HOURS"),
      runMillis: yield* word("AGENTD_RUN_DAYS").pipe(
        Config.map((days) => millisOf(settings.AGENTD_RUN_DAYS, Number(days))),
        Config.withDefault(defaults.runMillis)
      ),
      runsPerWorkspace: yield* whole("AGENTD_RUNS_PER_WORKSPACE"),
      turnsPerWorkspace: yield* whole("AGENTD_TURNS_PER_WORKSPACE"),
      runsPerOwner: yield* whole("AGENTD_RUNS_PER_OWNER"),
      quotas: yield* word("AGENTD_QUOTAS").pipe(
        Config.map((value) => Result.getOrElse(readQuotas(value), () => defaults.quotas)),
        Config.withDefault(defaults.quotas)
      ),
      runMaxMillis: yield* time("AGENTD_RUN_MAX_SECONDS"),
      maxCrashes: defaults.maxCrashes,
      approvalMillis: yield* time("AGENTD_APPROVAL_HOURS"),
      drainMillis: yield* time("AGENTD_DRAIN_SECONDS"),
      cronLedgerMillis: yield* time("AGENTD_CRON_LEDGER_DAYS"),
      auditMillis: yield* time("AGENTD_AUDIT_DAYS"),
      webhookMillis: yield* time("AGENTD_WEBHOOK_DAYS"),
      idempotencyMillis: yield* time("AGENTD_IDEMPOTENCY_HOURS"),
      maxSteps: yield* whole("AGENTD_MAX_STEPS"),
      modelTimeoutMillis: yield* time("AGENTD_MODEL_TIMEOUT_SECONDS"),
      modelIdleMillis: yield* time("AGENTD_MODEL_IDLE_SECONDS"),
      // Within what the database has for a call: else it counts as away.
      memorySearchMillis: Math.min(defaults.memorySearchMillis, databaseTimeoutMillis / 2),
      toolConcurrency: defaults.toolConcurrency,
      historyTokens: yield* whole("AGENTD_HISTORY_TOKENS"),
      toolTimeoutMillis: yield* time("AGENTD_TOOL_TIMEOUT_SECONDS"),
      toolWaitMillis: yield* time("AGENTD_TOOL_WAIT_SECONDS"),
      ratePerMinute: yield* whole("AGENTD_RATE_PER_MINUTE"),
      anonymousPerMinute: yield* whole("AGENTD_ANONYMOUS_PER_MINUTE"),
      trustedProxies: yield* networks("AGENTD_TRUSTED_PROXIES"),
      corsOrigins: yield* word("AGENTD_CORS_ORIGINS").pipe(
        Config.map((value) => Cors.parse(value) ?? Cors.none),
        Config.withDefault(Cors.none)
      ),
      allowPrivateAddresses: yield* privateAddresses,
      databasePool: yield* databasePool,
      maxOutputLength: defaults.maxOutputLength,
      databaseTimeoutMillis
    })
  })
)
