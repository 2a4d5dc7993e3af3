import { readFileSync } from "node:fs"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The variables whose value may be in the file that `<name>_FILE` names (nix/module.nix lists them too). */
const secrets = [
  "DATABASE_URL",
  "AGENTD_SECRET_KEY",
  "AGENTD_SECRET_KEYS_OLD",
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "GOOGLE_GENERATIVE_AI_API_KEY"
] as const

/** A file of a secret that can't be used: the start ends with this sentence. */
export class SecretFileError extends Schema.TaggedError<SecretFileError>()("SecretFileError", {
  error: Schema.String
}) {}

type Environment = Readonly<Record<string, string | undefined>>

const read = (environment: Environment) =>
  Effect.gen(function* () {
    const found: Record<string, string> = {}
    for (const name of secrets) {
      const path = environment[`${name}_FILE`]
      if (path === undefined || path === "") continue
      if (environment[name] !== undefined) {
        return yield* new SecretFileError({ error: `${name} and ${name}_FILE: set one of them` })
      }
      const value = yield* Effect.try({
        try: () => readFileSync(path, "utf8").trim(),
        catch: () => new SecretFileError({ error: `${name}_FILE: the file ${path} can't be read` })
      })
      // Taken for unset it would mean another database, or another key; former keys alone may be none.
      if (value === "" && name !== "AGENTD_SECRET_KEYS_OLD") {
        return yield* new SecretFileError({ error: `${name}_FILE: the file ${path} is empty` })
      }
      found[name] = value
    }
    return found
  })

/** The settings of an environment, with the secrets that are in files: they never are in the environment. */
export const layer = (environment: Environment) =>
  ConfigProvider.layer(
    Effect.map(read(environment), (found) =>
      ConfigProvider.fromEnv({ env: { ...environment, ...found } as Record<string, string> })
    )
  )
