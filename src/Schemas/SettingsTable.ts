import * as Result from "effect/Result"
import * as Cors from "./Cors.ts"
import * as ModelList from "./ModelList.ts"
import * as PrivateAddresses from "./PrivateAddresses.ts"
import { mostOutputTokens, Provider } from "./ProviderKey.ts"
import { readQuotas } from "./QuotaSetting.ts"
import { isSealingKey, keyForm } from "./SealingKey.ts"
import type { Setting } from "./Setting.ts"
import {
  apiKey,
  baseUrl,
  choice,
  databaseAddress,
  flag,
  hours,
  networks,
  perMinute,
  seconds,
  text,
  visible,
  whole
} from "./SettingForms.ts"
import { telemetry } from "./TelemetrySettings.ts"

/** Where it is and where it keeps things. */
const place = {
  HOST: text("address to listen on", {
    form: "address or name",
    problem: visible,
    fallback: "127.0.0.1",
    commands: true
  }),
  PORT: whole("port to listen on; 0 picks a free one", {
    minimum: 0,
    maximum: 65_535,
    unit: "",
    fallback: 3000,
    commands: true
  }),
  DATABASE_URL: databaseAddress(
    "PostgreSQL 15 or newer, in `UTF8`, with TLS where it is on another machine ([deploy.md](deploy.md#tls-to-postgresql)); unset: the embedded database",
    { commands: true }
  ),
  DATABASE_READ_URL: databaseAddress(
    "a standby of it by streaming replication: lists that may be a second old are read there ([operations.md](operations.md#a-replica-for-lists)); unset: none"
  ),
  DATABASE_DIRECT_URL: databaseAddress(
    "the same database past the pooler that `DATABASE_URL` leads to, as PgBouncer in transaction mode ([operations.md](operations.md#behind-pgbouncer)); unset: there is no pooler",
    { commands: true }
  ),
  AGENTD_DATA_DIR: text("folder of the embedded database: a new one, an empty one, or one that it has made", {
    form: "path",
    problem: visible,
    fallback: "./.agentd",
    commands: true
  }),
  AGENTD_SECRET_KEY: text(
    "seals secrets (`openssl rand -base64 32`); unset: one that is made in the data folder, or, with `DATABASE_URL`, none, and storing a secret is refused",
    {
      form: "32 bytes in base64",
      problem: (value) => (isSealingKey(value) ? undefined : `must be ${keyForm}`),
      fallback: null,
      commands: true,
      secret: true
    }
  ),
  AGENTD_SECRET_KEYS_OLD: text("former keys: they still open what they sealed", {
    form: "keys, separated by commas",
    problem: (value) =>
      value.split(",").every((key) => key.trim() === "" || isSealingKey(key.trim()))
        ? undefined
        : `must be keys of ${keyForm}, separated by commas`,
    fallback: null,
    commands: true,
    secret: true
  }),
  AGENTD_ALLOW_LOST_SECRETS: flag(
    "start although the key is missing that sealed the newest secrets; each has to be entered again",
    { fallback: false }
  ),
  AGENTD_DATABASE_POOL: whole(
    "connections of a node to PostgreSQL, beside one that listens; three in ten of them are for lists ([operations.md](operations.md#connections))",
    { minimum: 1, maximum: 1000, unit: "", fallback: 10, commands: true }
  ),
  AGENTD_DATABASE_TIMEOUT_SECONDS: {
    ...seconds(
      "how long a request may wait for the database in all, a free connection included, until its answer begins; then 503. Work that no request waits for has it for each statement or transaction",
      10,
      600
    ),
    commands: true
  },
  AGENTD_DRAIN_SECONDS: whole(
    "how long open requests, streams, and steps of runs that are under way get when the service stops",
    { minimum: 0, maximum: 3600, unit: "seconds", fallback: 10 }
  ),
  AGENTD_RATE_PER_MINUTE: perMinute(
    "requests of a token in a minute on a node, also at once; 0: any number",
    30_000
  ),
  AGENTD_ANONYMOUS_PER_MINUTE: perMinute(
    "requests of an address (of IPv6: 64 bits) without a valid credential in a minute on a node; 0: any number",
    120
  ),
  AGENTD_TRUSTED_PROXIES: networks(
    "proxies whose `X-Forwarded-For` is believed ([deploy.md](deploy.md#several-nodes-behind-a-proxy)); unset: none"
  ),
  AGENTD_CORS_ORIGINS: text(
    "pages of which other origins browsers let ask, with a session too, or `*`: of any, with a bearer token alone ([browsers.md](browsers.md)); unset: none",
    {
      form: "`https://app.example.com,http://localhost:5173`, or `*`",
      problem: Cors.problemOf,
      fallback: null
    }
  ),
  AGENTD_LOG_FORMAT: choice(
    "how the log is written ([operations.md](operations.md#the-log)); unset: `logfmt` on a terminal, else `json`",
    { values: ["logfmt", "json"], fallback: null, commands: true }
  ),
  AGENTD_LOG_LEVEL: choice(
    "from which level on the log is written; at `debug` with a line for each request",
    { values: ["trace", "debug", "info", "warn", "error"], fallback: "info", commands: true }
  ),
  AGENTD_ENV_FILE: text(
    "file with settings, read by `npm start` and `npm run agentd` alone; unset: `.env` beside `package.json`, if there is one; `/dev/null`: none",
    { form: "path", problem: () => undefined, fallback: null, commands: true }
  )
} as const satisfies Readonly<Record<string, Setting>>

/** How runs and chat turns are executed. */
const work = {
  AGENTD_RUN_CONCURRENCY: whole("runs at once on a node; 64 where the database is embedded", {
    minimum: 1,
    maximum: 1000,
    unit: "",
    fallback: 256
  }),
  AGENTD_RUNS_PER_WORKSPACE: whole("runs at once of a workspace, on all nodes together", {
    minimum: 1,
    maximum: 1000,
    unit: "",
    fallback: 8
  }),
  AGENTD_TURNS_PER_WORKSPACE: whole("chat turns at once of a workspace, on all nodes together; more wait", {
    minimum: 1,
    maximum: 1000,
    unit: "",
    fallback: 32
  }),
  AGENTD_RUNS_PER_OWNER: whole(
    "runs at once, and as many chat turns, of all workspaces that one user made, on all nodes together",
    { minimum: 1, maximum: 100_000, unit: "", fallback: 32 }
  ),
  AGENTD_QUOTAS: text(
    "how much there may be of what a workspace or a user has, where that is not what is usual ([operations.md](operations.md#quotas)); `null`: no limit",
    {
      form: '`{"free":{"agents":5}}`, by plan',
      problem: (value) =>
        Result.match(readQuotas(value), { onSuccess: () => undefined, onFailure: (problem) => problem }),
      fallback: null
    }
  ),
  AGENTD_RUN_MAX_SECONDS: seconds(
    "how long a run or chat turn may be worked on in all; what it waits for people does not count",
    3600,
    604_800
  ),
  AGENTD_TURN_CONCURRENCY: whole("chat turns at once on a node; more wait", {
    minimum: 1,
    maximum: 100_000,
    unit: "",
    fallback: 256
  }),
  AGENTD_EVENT_HOURS: hours("how long the events of a run can be read after its end", 24, 8760),
  AGENTD_JOURNAL_HOURS: hours(
    "how long the journal and approvals of a run are kept after its end, and chat turns",
    720,
    87_600
  ),
  AGENTD_RUN_DAYS: whole(
    "how long a run is kept after its end, with all that belongs to it ([runs.md](runs.md#what-is-kept)); unset: for ever",
    { minimum: 1, maximum: 36_500, unit: "days", fallback: null }
  ),
  AGENTD_APPROVAL_HOURS: hours("how long a run waits for somebody to decide about a tool call", 24, 8760),
  AGENTD_CRON_LEDGER_DAYS: whole("how long the ledger of cron jobs keeps a slot ([cron.md](cron.md))", {
    minimum: 1,
    maximum: 3650,
    unit: "days",
    fallback: 90
  }),
  AGENTD_AUDIT_DAYS: whole("how long the audit log keeps an entry ([operations.md](operations.md#audit))", {
    minimum: 1,
    maximum: 3650,
    unit: "days",
    fallback: 365
  }),
  AGENTD_WEBHOOK_DAYS: whole("how long deliveries of webhooks are kept, whatever became of them", {
    minimum: 1,
    maximum: 3650,
    unit: "days",
    fallback: 30
  }),
  AGENTD_IDEMPOTENCY_HOURS: hours(
    "how long an `Idempotency-Key` and what it was answered are kept ([client.md](client.md#asking-twice)), and conversations that no list shows after their last message",
    24,
    720
  ),
  AGENTD_LEASE_SECONDS: seconds("after this a run of a node that is gone is taken up by another", 15, 3600),
  AGENTD_MAX_STEPS: whole("model answers and tool results of one run or turn", {
    minimum: 1,
    maximum: 1000,
    unit: "",
    fallback: 50
  }),
  AGENTD_MODEL_TIMEOUT_SECONDS: seconds("how long a call of a model may take", 120, 3600),
  AGENTD_MODEL_IDLE_SECONDS: seconds("how long a model may send nothing at all", 60, 3600),
  AGENTD_HISTORY_TOKENS: whole("how much of a conversation a model is shown", {
    minimum: 1000,
    maximum: 10_000_000,
    unit: "tokens",
    fallback: 100_000
  }),
  AGENTD_TOOL_TIMEOUT_SECONDS: seconds("how long a call of a tool may take", 60, 3600),
  AGENTD_TOOL_WAIT_SECONDS: seconds(
    "how long a task waits for a connector that it needs and that can't be reached ([runs.md](runs.md))",
    300,
    86_400
  ),
  AGENTD_ALLOW_PRIVATE_ADDRESSES: text(
    "which private networks addresses that users set may lie in ([models.md](models.md#where-the-service-connects-to))",
    {
      form: "`true`, `false`, or networks, addresses and names: `10.1.0.0/16,localhost`",
      problem: PrivateAddresses.problemOf,
      fallback: "false"
    }
  )
} as const satisfies Readonly<Record<string, Setting>>

/** The operator's models, for every workspace without its own. */
const models = {
  OPENAI_API_KEY: apiKey("`openai`"),
  OPENAI_BASE_URL: baseUrl(
    "`openai` at another address: then a key is not needed, and `openai-compatible` is there too"
  ),
  ANTHROPIC_API_KEY: apiKey("`anthropic`"),
  ANTHROPIC_BASE_URL: baseUrl("`anthropic` at another address"),
  GOOGLE_GENERATIVE_AI_API_KEY: apiKey("`google`"),
  AGENTD_DEFAULT_PROVIDER: choice(
    "which of them answers by default; unset: the first of openai (also with a base URL alone), anthropic, google that is there",
    { values: Provider.literals, fallback: null, trimmed: true }
  ),
  AGENTD_DEFAULT_MODEL: text("its model; unset: `gpt-5-mini`, `claude-sonnet-4-5`, `gemini-2.5-flash`", {
    form: "name of a model",
    problem: () => undefined,
    fallback: null,
    trimmed: true
  }),
  AGENTD_MODELS: text(
    "models that workspaces may use with these keys, each with its provider ([models.md](models.md#the-operators-models)); unset: any",
    {
      form: "`openai/gpt-5-mini,anthropic/claude-sonnet-4-5`",
      problem: ModelList.problemOf,
      fallback: null,
      trimmed: true
    }
  ),
  AGENTD_MAX_OUTPUT_TOKENS: whole(
    "how many tokens an answer of them may have; unset: what is usual ([models.md](models.md))",
    { minimum: 1, maximum: mostOutputTokens, unit: "tokens", fallback: null, trimmed: true }
  )
} as const satisfies Readonly<Record<string, Setting>>

/** In the order in which they are shown, under these titles. */
export const groups = {
  "Where it is, and where it keeps things": place,
  "Runs and chats": work,
  "The operator's models": models,
  OpenTelemetry: telemetry
} as const

/**
 * Every variable that is read, and all that is said of it: a new one is an entry here and the line of
 * `Layers/Settings.ts` that reads it by its name; then `npm run settings`. (`scripts/load.mjs` reads one by itself.)
 */
export const settings = { ...place, ...work, ...models, ...telemetry } as const

export type SettingName = keyof typeof settings

/** The names of the settings of one kind. */
export type NameOf<S extends Setting> = {
  [Name in SettingName]: (typeof settings)[Name] extends S ? Name : never
}[SettingName]

export const names = Object.keys(settings) as ReadonlyArray<SettingName>

const settingOf = (name: SettingName): Setting => settings[name]

/** Those whose value may be in the file that `<name>_FILE` names. */
export const secretNames = names.filter((name) => settingOf(name).secret === true)
