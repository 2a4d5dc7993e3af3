import { readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { secretNames } from "../Schemas/SettingsTable.ts"

/** A file of a secret that can't be used: the start ends with this sentence. */
export class SecretFileError extends Schema.TaggedError<SecretFileError>()("SecretFileError", {
  error: Schema.String
}) {}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The secrets of an environment that are in the files that `<name>_FILE` name (`Schemas/SettingsTable.ts` says which can
 * be; nix/module.nix lists them too), without white space around them.
 */
export const read = (environment: Environment) =>
  Effect.gen(function* () {
    const found: Record<string, string> = {}
    for (const name of secretNames) {
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
