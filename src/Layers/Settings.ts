import { randomUUID } from "node:crypto"
import { resolve } from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { wholeNumberOf } from "../Schemas/WholeNumber.ts"
import { Settings } from "../Services/Settings.ts"

/** A text that stands for nothing else than what `problem` does not object to. Empty is as good as unset. */
const word = (name: string, problem: (value: string) => string | undefined) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((value: string) => {
        const said = problem(value)
        return said === undefined ? undefined : `${name} ${said}`
      })
    ),
    name
  )

const visible = (name: string) =>
  word(name, (value) => (value.trim() === "" ? "must not be white space" : undefined))

const whole = (name: string, fallback: number, minimum: number, maximum: number) =>
  word(name, (value) =>
    wholeNumberOf(value, minimum, maximum) === undefined
      ? `must be a whole number from ${minimum} to ${maximum}`
      : undefined
  ).pipe(Config.map(Number), Config.withDefault(fallback))

const flag = (name: string, fallback: boolean) =>
  word(name, (value) => (value === "true" || value === "false" ? undefined : "must be true or false")).pipe(
    Config.map((value) => value === "true"),
    Config.withDefault(fallback)
  )

/** As the driver reads it: what is no such address ends the start before anything is tried. */
const isDatabaseUrl = (value: string) => /^postgres(ql)?:$/u.test(URL.parse(value)?.protocol ?? "")

/** Which database: the address of a PostgreSQL, or the folder of the embedded one (CONTRACT.md section 1). */
export const database = Config.all({
  url: word("DATABASE_URL", (value) =>
    isDatabaseUrl(value) ? undefined : "must look like postgres://user:password@host:5432/database"
  ).pipe(
    Config.map((value) => Redacted.make(value)),
    Config.option
  ),
  dataDir: visible("AGENTD_DATA_DIR").pipe(
    Config.withDefault("./.agentd"),
    Config.map((path) => resolve(path))
  )
})

/** Whether to start though keys are missing that have sealed what is stored. */
export const allowLostSecrets = flag("AGENTD_ALLOW_LOST_SECRETS", false)

/** Where to listen. */
export const address = Config.all({
  host: visible("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: whole("PORT", 3000, 0, 65_535)
})

const seconds = (name: string, fallbackMillis: number, maximum: number) =>
  Config.map(whole(name, fallbackMillis / 1000, 1, maximum), (value) => value * 1000)

const hours = (name: string, fallbackMillis: number, maximum: number) =>
  Config.map(whole(name, fallbackMillis / 3_600_000, 1, maximum), (value) => value * 3_600_000)

const { defaults } = Settings

/** The settings of this process, from its environment. */
export const layer = Layer.effect(
  Settings,
  Effect.gen(function* () {
    const { url } = yield* database
    // Where to listen is needed last, but a mistake in it should not cost a database first.
    yield* address
    const databaseTimeoutMillis = yield* seconds(
      "AGENTD_DATABASE_TIMEOUT_SECONDS",
      defaults.databaseTimeoutMillis,
      600
    )
    return Settings.of({
      // An embedded database has one process, so whatever a former one held is this one's.
      worker: Option.isNone(url) ? "embedded" : `node_${randomUUID()}`,
      leaseMillis: yield* seconds("AGENTD_LEASE_SECONDS", defaults.leaseMillis, 3600),
      runConcurrency: yield* whole("AGENTD_RUN_CONCURRENCY", defaults.runConcurrency, 1, 1000),
      turnConcurrency: yield* whole("AGENTD_TURN_CONCURRENCY", defaults.turnConcurrency, 1, 100_000),
      eventMillis: yield* hours("AGENTD_EVENT_HOURS", defaults.eventMillis, 8760),
      journalMillis: yield* hours("AGENTD_JOURNAL_HOURS", defaults.journalMillis, 87_600),
      runsPerWorkspace: yield* whole("AGENTD_RUNS_PER_WORKSPACE", defaults.runsPerWorkspace, 1, 1000),
      maxCrashes: defaults.maxCrashes,
      approvalMillis: yield* hours("AGENTD_APPROVAL_HOURS", defaults.approvalMillis, 8760),
      drainMillis: yield* Config.map(
        whole("AGENTD_DRAIN_SECONDS", defaults.drainMillis / 1000, 0, 3600),
        (value) => value * 1000
      ),
      cronLedgerMillis: yield* Config.map(
        whole("AGENTD_CRON_LEDGER_DAYS", defaults.cronLedgerMillis / 86_400_000, 1, 3650),
        (days) => days * 86_400_000
      ),
      maxSteps: yield* whole("AGENTD_MAX_STEPS", defaults.maxSteps, 1, 1000),
      modelTimeoutMillis: yield* seconds("AGENTD_MODEL_TIMEOUT_SECONDS", defaults.modelTimeoutMillis, 3600),
      modelIdleMillis: yield* seconds("AGENTD_MODEL_IDLE_SECONDS", defaults.modelIdleMillis, 3600),
      // Within what the database has for a call: else it counts as away.
      memorySearchMillis: Math.min(defaults.memorySearchMillis, databaseTimeoutMillis / 2),
      toolConcurrency: defaults.toolConcurrency,
      historyTokens: yield* whole("AGENTD_HISTORY_TOKENS", defaults.historyTokens, 1000, 10_000_000),
      toolTimeoutMillis: yield* seconds("AGENTD_TOOL_TIMEOUT_SECONDS", defaults.toolTimeoutMillis, 3600),
      toolWaitMillis: yield* seconds("AGENTD_TOOL_WAIT_SECONDS", defaults.toolWaitMillis, 86_400),
      allowPrivateAddresses: yield* flag("AGENTD_ALLOW_PRIVATE_ADDRESSES", defaults.allowPrivateAddresses),
      databasePool: yield* whole("AGENTD_DATABASE_POOL", defaults.databasePool, 1, 1000),
      maxOutputLength: defaults.maxOutputLength,
      databaseTimeoutMillis
    })
  })
)
