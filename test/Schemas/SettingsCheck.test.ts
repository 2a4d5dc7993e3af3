import { assert, describe, it } from "@effect/vitest"
import { check, nearest } from "../../src/Schemas/SettingsCheck.ts"
import { names, settings } from "../../src/Schemas/SettingsTable.ts"

const own = names.filter((name) => name.startsWith("AGENTD_"))

/** The variables that Kubernetes makes for a service, by its documentation. */
const linksOf = (service: string) => {
  const name = service.toUpperCase().replaceAll("-", "_")
  return ["HOST", "PORT", "PORT_HTTP", "PORT_POSTGRES"]
    .map((end) => `${name}_SERVICE_${end}`)
    .concat(
      `${name}_PORT`,
      ["TCP", "UDP"].flatMap((protocol) =>
        ["", "_PROTO", "_PORT", "_ADDR"].map((end) => `${name}_PORT_3000_${protocol}${end}`)
      )
    )
}

/** `name` without, with another and with one more letter in each place, and with two that changed places. */
const mistakesIn = (name: string) =>
  Array.from({ length: name.length - "AGENTD_".length }, (_, index) => {
    const at = index + "AGENTD_".length
    const [before, letter, after] = [name.slice(0, at), name[at] ?? "", name.slice(at + 1)]
    return [
      `${before}${after}`,
      `${before}Q${after}`,
      `${before}Q${letter}${after}`,
      `${before}${after.slice(0, 1)}${letter}${after.slice(1)}`
    ]
  })
    .flat()
    .filter((mistaken) => mistaken !== name)

describe("the variables of a process", () => {
  it("are a mistake within two letters of one that there is", () => {
    for (const name of own) {
      for (const mistaken of mistakesIn(name)) {
        assert.include(nearest(mistaken), name, mistaken)
        const { mistakes, unknown } = check({ [mistaken]: "x" })
        assert.match(
          mistakes.join("\n"),
          new RegExp(`^${mistaken} is no setting: did you mean .*\\b${name}\\b.*\\?$`)
        )
        assert.deepStrictEqual(unknown, [])
      }
    }
  })

  it("are told apart by two letters, and by a third no more", () => {
    for (const [name, near] of [
      ["AGENTD_DATA_DRI", ["AGENTD_DATA_DIR"]],
      ["AGENTD_DATADIR", ["AGENTD_DATA_DIR"]],
      ["AGENTD_DATA_DI", ["AGENTD_DATA_DIR"]],
      ["AGENTD_DATA_D", ["AGENTD_DATA_DIR"]],
      ["AGENTD_DATA_", []],
      ["AGENTD_DTAA_DRI", ["AGENTD_DATA_DIR"]],
      ["AGENTD_DTAA_DRIX", []],
      ["AGENTD_DATA_PATH", []],
      ["AGENTD_URN_CONCURRENCY", ["AGENTD_RUN_CONCURRENCY", "AGENTD_TURN_CONCURRENCY"]],
      ["AGENTD_TURN_CONCURENCY", ["AGENTD_TURN_CONCURRENCY"]],
      ["AGENTD_MAXSTEPS", ["AGENTD_MAX_STEPS"]],
      ["AGENTD_SECRET_KEYS", ["AGENTD_SECRET_KEY"]],
      ["AGENTD_SECRET_KEY_FLE", ["AGENTD_SECRET_KEY_FILE"]],
      ["AGENTD_SECRET_KEY_OLD", ["AGENTD_SECRET_KEYS_OLD"]],
      ["AGENTD_", []],
      ["AGENTD_X", []],
      [`AGENTD_${"X".repeat(100_000)}`, []]
    ] as const) {
      assert.deepStrictEqual<ReadonlyArray<string>>(nearest(name), near, name.slice(0, 40))
    }
  })

  it("are nobody's mistake where Kubernetes makes them", () => {
    for (const service of [
      "agentd",
      "agentd-data",
      "agentd-database",
      "agentd-db",
      "agentd-max",
      "agentd-lease"
    ]) {
      for (const name of linksOf(service)) {
        assert.deepStrictEqual(check({ [name]: "10.0.0.1" }), { mistakes: [], unknown: [name] }, name)
      }
    }
  })

  it("are unknown where they are far from any, and no matter without a value or of others", () => {
    assert.deepStrictEqual(check({ AGENTD_TEST_SEED: "1", AGENTD_PORT: "1", AGENTD_X: "" }), {
      mistakes: [],
      unknown: ["AGENTD_TEST_SEED", "AGENTD_PORT"]
    })
    const others = { HOSTS: "1", PROT: "1", DATABASE_URLS: "1", OPENAI_API_KEYS: "1", AGENT_DATA_DIR: "1" }
    for (const environment of [others, { AGENTD_DATA_DRI: "" }, { AGENTD_DATA_DRI: undefined }, {}]) {
      assert.deepStrictEqual(check(environment), { mistakes: [], unknown: [] })
    }
  })

  it("are known as they are, and as files of secrets", () => {
    const all = Object.fromEntries(names.map((name) => [name, ""]))
    assert.deepStrictEqual(check(all), { mistakes: [], unknown: [] })
    for (const [name, { secret }] of Object.entries<{ readonly secret?: true }>(settings)) {
      if (!name.startsWith("AGENTD_")) continue
      const unknown = secret === true ? [] : [`${name}_FILE`]
      assert.deepStrictEqual(check({ [`${name}_FILE`]: "/x" }), { mistakes: [], unknown })
    }
  })

  it("have all their mistakes told at once, without a value", () => {
    const canary = "canary"
    assert.deepStrictEqual(
      check({
        PORT: canary,
        DATABASE_URL: canary,
        AGENTD_LEASE_SECONDS: "0",
        AGENTD_ALLOW_PRIVATE_ADDRESSES: `${canary}/8`,
        AGENTD_DEFAULT_PROVIDER: canary,
        OPENAI_API_KEY: `${canary} `.repeat(2),
        ANTHROPIC_BASE_URL: canary,
        AGENTD_MAX_OUTPUT_TOKENS: " 12 ",
        AGENTD_DATA_DRI: canary
      }).mistakes,
      [
        "PORT must be a whole number from 0 to 65535",
        "DATABASE_URL must look like postgres://user:password@host:5432/database",
        "AGENTD_LEASE_SECONDS must be a whole number from 1 to 3600",
        "AGENTD_ALLOW_PRIVATE_ADDRESSES must be true, false, or networks (10.1.0.0/16), addresses and names, separated by commas",
        "OPENAI_API_KEY must be visible ASCII characters",
        "ANTHROPIC_BASE_URL must be an http or https address without a user name",
        "AGENTD_DEFAULT_PROVIDER must be one of openai, anthropic, google, openai-compatible, offline",
        "AGENTD_DATA_DRI is no setting: did you mean AGENTD_DATA_DIR?"
      ]
    )
  })

  it("finds other addresses of a database that has none itself: it would be an embedded one", () => {
    const url = "postgres://u:canary@db/x"
    assert.deepStrictEqual(
      check({ DATABASE_READ_URL: url, DATABASE_DIRECT_URL: url, DATABASE_URL: "" }).mistakes,
      ["DATABASE_READ_URL needs DATABASE_URL", "DATABASE_DIRECT_URL needs DATABASE_URL"]
    )
    assert.deepStrictEqual(
      check({ DATABASE_READ_URL: url, DATABASE_DIRECT_URL: "", DATABASE_URL: url }).mistakes,
      []
    )
  })
})
