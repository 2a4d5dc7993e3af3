import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Environment from "../../src/Layers/Environment.ts"
import { sentenceOf } from "../../src/Layers/Runtime.ts"
import { address, allowLostSecrets, database, layer, logging } from "../../src/Layers/Settings.ts"
import { settings } from "../../src/Schemas/SettingsTable.ts"
import { telemetry } from "../../src/Schemas/TelemetrySettings.ts"
import { Settings, type SettingsShape } from "../../src/Services/Settings.ts"

/** Every setting that is a number: what of the process it sets, in which unit, its bounds and its default, by hand. */
const numbers: ReadonlyArray<
  readonly [
    name: string,
    of: keyof SettingsShape | "port",
    unit: number,
    least: number,
    most: number,
    usual: number
  ]
> = [
  ["PORT", "port", 1, 0, 65_535, 3000],
  ["AGENTD_LEASE_SECONDS", "leaseMillis", 1000, 1, 3600, 15],
  ["AGENTD_RUN_CONCURRENCY", "runConcurrency", 1, 1, 1000, 64],
  ["AGENTD_TURN_CONCURRENCY", "turnConcurrency", 1, 1, 100_000, 256],
  ["AGENTD_EVENT_HOURS", "eventMillis", 3_600_000, 1, 8760, 24],
  ["AGENTD_JOURNAL_HOURS", "journalMillis", 3_600_000, 1, 87_600, 720],
  ["AGENTD_RUNS_PER_WORKSPACE", "runsPerWorkspace", 1, 1, 1000, 8],
  ["AGENTD_TURNS_PER_WORKSPACE", "turnsPerWorkspace", 1, 1, 1000, 32],
  ["AGENTD_RUNS_PER_OWNER", "runsPerOwner", 1, 1, 100_000, 32],
  ["AGENTD_RUN_MAX_SECONDS", "runMaxMillis", 1000, 1, 604_800, 3600],
  ["AGENTD_APPROVAL_HOURS", "approvalMillis", 3_600_000, 1, 8760, 24],
  ["AGENTD_DRAIN_SECONDS", "drainMillis", 1000, 0, 3600, 10],
  ["AGENTD_CRON_LEDGER_DAYS", "cronLedgerMillis", 86_400_000, 1, 3650, 90],
  ["AGENTD_AUDIT_DAYS", "auditMillis", 86_400_000, 1, 3650, 365],
  ["AGENTD_WEBHOOK_DAYS", "webhookMillis", 86_400_000, 1, 3650, 30],
  ["AGENTD_IDEMPOTENCY_HOURS", "idempotencyMillis", 3_600_000, 1, 720, 24],
  ["AGENTD_MAX_STEPS", "maxSteps", 1, 1, 1000, 50],
  ["AGENTD_MODEL_TIMEOUT_SECONDS", "modelTimeoutMillis", 1000, 1, 3600, 120],
  ["AGENTD_MODEL_IDLE_SECONDS", "modelIdleMillis", 1000, 1, 3600, 60],
  ["AGENTD_HISTORY_TOKENS", "historyTokens", 1, 1000, 10_000_000, 100_000],
  ["AGENTD_TOOL_TIMEOUT_SECONDS", "toolTimeoutMillis", 1000, 1, 3600, 60],
  ["AGENTD_TOOL_WAIT_SECONDS", "toolWaitMillis", 1000, 1, 86_400, 300],
  ["AGENTD_RATE_PER_MINUTE", "ratePerMinute", 1, 0, 10_000_000, 30_000],
  ["AGENTD_ANONYMOUS_PER_MINUTE", "anonymousPerMinute", 1, 0, 10_000_000, 120],
  ["AGENTD_DATABASE_POOL", "databasePool", 1, 1, 1000, 10],
  ["AGENTD_DATABASE_TIMEOUT_SECONDS", "databaseTimeoutMillis", 1000, 1, 600, 10]
]

const noNumbers = [
  "1e3",
  "1E3",
  "1000.0",
  "01000",
  "+1000",
  "-1",
  " 1000",
  "1000 ",
  "0x400",
  "1_000",
  "1k",
  "abc",
  " "
]

const read = (environment: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const { host, port } = yield* address
    return { ...(yield* Settings), ...(yield* database), host, port }
  }).pipe(Effect.provide(layer), Effect.provide(Environment.layer(environment)))

const refusal = (environment: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(read(environment)), sentenceOf)

describe("the settings of a process", () => {
  it("that are numbers are all here, but for those of OpenTelemetry", () => {
    assert.sameMembers(
      Object.entries(settings).flatMap(([name, { fallback, type }]) =>
        type === "whole" && fallback !== null && !(name in telemetry) ? [name] : []
      ),
      numbers.map(([name]) => name)
    )
  })

  it.effect.each(numbers)(
    "%s is a whole number in plain digits within bounds",
    ([name, of, unit, least, most]) =>
      Effect.gen(function* () {
        for (const value of [least, most]) {
          assert.strictEqual((yield* read({ [name]: String(value) }))[of], value * unit)
        }
        for (const value of [...noNumbers, String(least - 1), String(most + 1)]) {
          const sentence = `${name} must be a whole number from ${least} to ${most}`
          assert.strictEqual(yield* refusal({ [name]: value }), sentence, JSON.stringify(value))
        }
      })
  )

  it.effect("have their defaults where nothing, or nothing but a name, is set", () =>
    Effect.gen(function* () {
      const empty = Object.fromEntries([
        ...numbers.map(([name]) => [name, ""]),
        ["AGENTD_QUOTAS", ""],
        ["HOST", ""],
        ["AGENTD_DATA_DIR", ""]
      ])
      const { worker, ...defaults } = Settings.defaults
      const usual = Object.fromEntries(numbers.map(([, of, unit, , , value]) => [of, value * unit]))
      for (const environment of [{}, empty]) {
        assert.deepInclude(yield* read(environment), { ...defaults, ...usual, host: "127.0.0.1" })
      }
      assert.deepInclude(yield* read({ DATABASE_URL: "postgres://u@h/d" }), defaults)
    })
  )

  it.effect("keep runs for ever, or for so many days", () =>
    Effect.gen(function* () {
      for (const [environment, runMillis] of [
        [{}, null],
        [{ AGENTD_RUN_DAYS: "" }, null],
        [{ AGENTD_RUN_DAYS: "30" }, 30 * 86_400_000]
      ] as const) {
        assert.strictEqual((yield* read(environment)).runMillis, runMillis)
      }
      const sentence = "AGENTD_RUN_DAYS must be a whole number from 1 to 36500"
      assert.strictEqual(yield* refusal({ AGENTD_RUN_DAYS: "0" }), sentence)
    })
  )

  it.effect("change the quotas that they name, and a mistake in them ends the start", () =>
    Effect.gen(function* () {
      const { quotas } = yield* read({ AGENTD_QUOTAS: '{"pro":{"agents":7,"tokens":null}}' })
      const { defaults } = Settings
      assert.deepStrictEqual(quotas, {
        ...defaults.quotas,
        agents: { free: 1_000, pro: 7 },
        tokens: { free: 100, pro: null }
      })
      assert.strictEqual(
        yield* refusal({ AGENTD_QUOTAS: '{"free":{"agents":"many"}}' }),
        "AGENTD_QUOTAS free.agents must be a whole number from 0, or null for no limit"
      )
    })
  )

  it.effect("say which private networks may be reached", () =>
    Effect.gen(function* () {
      const name = "AGENTD_ALLOW_PRIVATE_ADDRESSES"
      for (const [value, expected] of [
        ["true", true],
        ["false", false],
        ["", false],
        ["10.1.0.0/16,localhost", "10.1.0.0/16,localhost"]
      ] as const) {
        assert.strictEqual((yield* read({ [name]: value })).allowPrivateAddresses, expected)
      }
      for (const value of ["True", "10.1.0.0/33", "10.1.0.0/16;localhost"]) {
        assert.strictEqual(
          yield* refusal({ [name]: value }),
          `${name} must be true, false, or networks (10.1.0.0/16), addresses and names, separated by commas`
        )
      }
    })
  )

  it.effect("that are true or false are nothing else", () =>
    Effect.gen(function* () {
      const name = "AGENTD_ALLOW_LOST_SECRETS"
      const readFlag = (value: string) =>
        Effect.provide(allowLostSecrets, Environment.layer({ [name]: value }))
      assert.isTrue(yield* readFlag("true"))
      for (const value of ["True", "1", "yes", " true", "on"]) {
        const sentence = sentenceOf(yield* Effect.flip(readFlag(value)))
        assert.strictEqual(sentence, `${name} must be true or false`)
      }
    })
  )

  it.effect("name the proxies that are believed, none by themselves", () =>
    Effect.gen(function* () {
      const name = "AGENTD_TRUSTED_PROXIES"
      const { trustedProxies } = yield* read({ [name]: " 10.0.0.0/8, localhost" })
      assert.deepStrictEqual(
        ["10.1.2.3", "::1", "11.1.2.3"].map((address) => trustedProxies.contains(address)),
        [true, true, false]
      )
      for (const environment of [{}, { [name]: "" }]) {
        assert.isFalse((yield* read(environment)).trustedProxies.contains("127.0.0.1"))
      }
      const sentence = `${name} must be networks (10.0.0.0/8), addresses or localhost, separated by commas`
      for (const value of ["canary", "10.0.0.0/33", "true", "10.0.0.1 10.0.0.2"]) {
        assert.strictEqual(yield* refusal({ [name]: value }), sentence)
      }
    })
  )

  it.effect("name the origins whose pages may ask, none by themselves", () =>
    Effect.gen(function* () {
      const name = "AGENTD_CORS_ORIGINS"
      const { corsOrigins } = yield* read({ [name]: " https://a.example, http://localhost:5173" })
      assert.deepStrictEqual(corsOrigins, new Set(["https://a.example", "http://localhost:5173"]))
      assert.strictEqual((yield* read({ [name]: "*" })).corsOrigins, "any")
      for (const environment of [{}, { [name]: "" }]) {
        assert.deepStrictEqual((yield* read(environment)).corsOrigins, new Set<string>())
      }
      const sentence =
        `${name} must be * alone, or origins (https://app.example.com, without a path or a slash at the end), ` +
        "separated by commas"
      for (const value of ["canary", "*,https://a.example", "https://a.example/", "https://*.a.example"]) {
        assert.strictEqual(yield* refusal({ [name]: value }), sentence)
      }
    })
  )

  it.effect("say how the log is written, in one of the words that there are", () =>
    Effect.gen(function* () {
      const read = (environment: Readonly<Record<string, string>>) =>
        Effect.provide(logging, Environment.layer(environment))
      for (const environment of [{}, { AGENTD_LOG_FORMAT: "", AGENTD_LOG_LEVEL: "" }]) {
        assert.deepStrictEqual(yield* read(environment), { format: Option.none(), level: "info" })
      }
      const set = { AGENTD_LOG_FORMAT: "logfmt", AGENTD_LOG_LEVEL: "debug" }
      assert.deepStrictEqual(yield* read(set), { format: Option.some("logfmt"), level: "debug" })
      const refused = (environment: Readonly<Record<string, string>>) =>
        Effect.map(Effect.flip(read(environment)), sentenceOf)
      for (const value of ["JSON", "text", " json"]) {
        const sentence = yield* refused({ AGENTD_LOG_FORMAT: value })
        assert.strictEqual(sentence, "AGENTD_LOG_FORMAT must be one of logfmt, json")
      }
      for (const value of ["INFO", "verbose", "warning"]) {
        const sentence = yield* refused({ AGENTD_LOG_LEVEL: value })
        assert.strictEqual(sentence, "AGENTD_LOG_LEVEL must be one of trace, debug, info, warn, error")
      }
    })
  )

  it.effect("are no white space", () =>
    Effect.gen(function* () {
      for (const name of ["AGENTD_DATA_DIR", "HOST", "DATABASE_URL"]) {
        for (const value of [" ", "\t", "\n"]) {
          assert.match(
            yield* refusal({ [name]: value }),
            new RegExp(`^${name} must (not be white space|look like postgres:)`)
          )
        }
      }
    })
  )

  it.effect("say where a PostgreSQL is, or there is a sentence that does not repeat it", () =>
    Effect.gen(function* () {
      for (const value of [
        "db",
        "mysql://u:canary@db/agentd",
        "http://db",
        "postgres",
        "//db/x",
        "postgres://u:canary@d b/x"
      ]) {
        assert.strictEqual(
          yield* refusal({ DATABASE_URL: value }),
          "DATABASE_URL must look like postgres://user:password@host:5432/database"
        )
      }
      for (const value of ["postgres://db", "postgresql://agentd@localhost/agentd?host=/run/postgresql"]) {
        yield* read({ DATABASE_URL: value })
      }
    })
  )
})
