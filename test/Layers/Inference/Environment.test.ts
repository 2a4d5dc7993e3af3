import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { environment } from "../../../src/Layers/Inference/Environment.ts"

const read = (env: Readonly<Record<string, string>>) =>
  Effect.provide(environment, ConfigProvider.layer(ConfigProvider.fromEnv({ env })))

describe("the operator's models", () => {
  it.effect("are none without variables, or with empty ones", () =>
    Effect.gen(function* () {
      for (const env of [{}, { OPENAI_API_KEY: "", AGENTD_DEFAULT_PROVIDER: " " }]) {
        const { access, models } = yield* read(env)
        assert.strictEqual(access.size, 0)
        assert.isNull(models.defaultProvider)
      }
    })
  )

  it.effect("are those with a key, the first of them by default, each with a usual model", () =>
    Effect.gen(function* () {
      const { access, models } = yield* read({
        GOOGLE_GENERATIVE_AI_API_KEY: "g",
        ANTHROPIC_API_KEY: " a\n",
        ANTHROPIC_BASE_URL: "https://claude.example.org"
      })
      assert.strictEqual(models.defaultProvider, "anthropic")
      assert.deepStrictEqual(Array.from(models.models.keys()), ["anthropic", "google"])
      assert.isTrue(Array.from(models.models.values()).every((model) => model !== null))
      const { apiKey, baseUrl } = access.get("anthropic") ?? { apiKey: null, baseUrl: null }
      assert.strictEqual(apiKey && Redacted.value(apiKey), "a")
      assert.strictEqual(baseUrl, "https://claude.example.org")
    })
  )

  it.effect("of a base URL alone are openai and openai-compatible", () =>
    Effect.gen(function* () {
      const { models } = yield* read({
        OPENAI_BASE_URL: "http://127.0.0.1:11434",
        AGENTD_DEFAULT_PROVIDER: "openai-compatible",
        AGENTD_DEFAULT_MODEL: "qwen3"
      })
      assert.strictEqual(models.defaultProvider, "openai-compatible")
      assert.strictEqual(models.models.get("openai-compatible"), "qwen3")
      assert.strictEqual(models.models.get("openai"), "gpt-5-mini")
    })
  )

  it.effect(
    "are those of the list alone, where there is one: the usual ones, else the first of each provider",
    () =>
      Effect.gen(function* () {
        const keys = { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a", GOOGLE_GENERATIVE_AI_API_KEY: "g" }
        const shown = (list: string, more: Readonly<Record<string, string>> = {}) =>
          Effect.map(read({ ...keys, AGENTD_MODELS: list, ...more }), ({ models }) => [
            models.defaultProvider,
            Object.fromEntries(models.models),
            models.listed?.length ?? null
          ])
        const usual = { openai: "gpt-5-mini", anthropic: "claude-sonnet-4-5", google: "gemini-2.5-flash" }
        assert.deepStrictEqual(yield* shown(" "), ["openai", usual, null])
        assert.deepStrictEqual(
          yield* shown(" google/x/y , anthropic/claude-haiku,anthropic/claude-sonnet-4-5"),
          ["anthropic", { openai: null, anthropic: "claude-sonnet-4-5", google: "x/y" }, 3]
        )
        assert.deepStrictEqual(yield* shown("openai/b,openai/a", { AGENTD_DEFAULT_MODEL: "a" }), [
          "openai",
          { openai: "a", anthropic: null, google: null },
          2
        ])
        assert.deepStrictEqual(yield* shown("openai/b,google/g", { AGENTD_DEFAULT_PROVIDER: "google" }), [
          "google",
          { openai: "b", anthropic: null, google: "g" },
          2
        ])
        assert.deepStrictEqual(yield* shown("openai/b", { AGENTD_DEFAULT_PROVIDER: "offline" }), [
          "offline",
          { openai: "b", anthropic: null, google: null },
          1
        ])
      })
  )

  it.effect("have the limit of output tokens that the operator sets, or none", () =>
    Effect.gen(function* () {
      const keys = { OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a", GOOGLE_GENERATIVE_AI_API_KEY: "g" }
      for (const [value, limit] of [
        ["", null],
        ["1", 1],
        [" 1000000 ", 1_000_000]
      ] as const) {
        const { access } = yield* read({ ...keys, AGENTD_MAX_OUTPUT_TOKENS: value })
        assert.deepStrictEqual(
          Array.from(access.values(), ({ maxOutputTokens }) => maxOutputTokens),
          [limit, limit, limit]
        )
      }
    })
  )

  const mistakes: ReadonlyArray<readonly [Readonly<Record<string, string>>, string]> = [
    [{ AGENTD_DEFAULT_PROVIDER: "mistral" }, "AGENTD_DEFAULT_PROVIDER must be one of"],
    [{ AGENTD_DEFAULT_PROVIDER: "openai" }, "needs OPENAI_API_KEY or OPENAI_BASE_URL"],
    [{ AGENTD_DEFAULT_PROVIDER: "openai-compatible" }, "needs OPENAI_BASE_URL"],
    [
      { AGENTD_DEFAULT_PROVIDER: "openai-compatible", OPENAI_BASE_URL: "http://x" },
      "AGENTD_DEFAULT_MODEL is needed"
    ],
    [{ OPENAI_BASE_URL: "nonsense" }, "OPENAI_BASE_URL must be an http or https address"],
    [{ OPENAI_BASE_URL: "ftp://x" }, "OPENAI_BASE_URL must be an http or https address"],
    [{ ANTHROPIC_BASE_URL: "http://u:p@x" }, "ANTHROPIC_BASE_URL must be an http or https address"],
    ...["0", "1000001", "1e3", "-5", "1.5", "many"].map(
      (value) =>
        [
          { AGENTD_MAX_OUTPUT_TOKENS: value },
          "AGENTD_MAX_OUTPUT_TOKENS must be a whole number from 1 to 1000000"
        ] as const
    ),
    ...[
      "CANARY",
      "openai",
      "openai/",
      "mistral/CANARY",
      "offline/CANARY",
      "openai/a CANARY/b, canary",
      ","
    ].map(
      (value) =>
        [{ AGENTD_MODELS: value }, "AGENTD_MODELS must be up to 100 models like openai/gpt-5-mini"] as const
    ),
    [
      { AGENTD_MODELS: "openai/a, anthropic/b", OPENAI_API_KEY: "o" },
      "AGENTD_MODELS: anthropic needs ANTHROPIC_API_KEY in this environment"
    ],
    [
      { AGENTD_MODELS: "openai-compatible/a", OPENAI_API_KEY: "o" },
      "AGENTD_MODELS: openai-compatible needs OPENAI_BASE_URL in this environment"
    ],
    [
      { AGENTD_MODELS: "openai/a", AGENTD_DEFAULT_MODEL: "b", OPENAI_API_KEY: "o" },
      "AGENTD_DEFAULT_MODEL is not in AGENTD_MODELS"
    ],
    [
      {
        AGENTD_MODELS: "openai/a",
        AGENTD_DEFAULT_PROVIDER: "anthropic",
        OPENAI_API_KEY: "o",
        ANTHROPIC_API_KEY: "a"
      },
      "AGENTD_MODELS has no model of anthropic, the default provider"
    ],
    [{ OPENAI_API_KEY: "CANARY\nzz" }, "OPENAI_API_KEY must be visible ASCII characters"]
  ]
  for (const [env, sentence] of mistakes) {
    it.effect(`end the start with a sentence: ${JSON.stringify(env)}`, () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(read(env))
        const error = failure._tag === "ModelsMisconfigured" ? failure.error : "another failure"
        assert.include(error, sentence)
        assert.notInclude(error, "CANARY")
      })
    )
  }
})
