import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { check } from "../Schemas/SettingsCheck.ts"
import * as SecretFiles from "./SecretFiles.ts"

/** Variables that can't be meant so: the start ends with this sentence, which has all of them. */
export class EnvironmentMistaken extends Schema.TaggedError<EnvironmentMistaken>()("EnvironmentMistaken", {
  error: Schema.String
}) {}

/** How many unknown names the log gets, and how much of each. */
const mostNames = 20
const longestName = 80

/**
 * The settings of a process, from its environment and from the files of secrets, which never are in the environment.
 * Everything that can be seen to be wrong about them ends the start at once, in one sentence; of variables `AGENTD_…`
 * that nobody reads the log tells.
 */
export const layer = (environment: Readonly<Record<string, string | undefined>>) =>
  ConfigProvider.layer(
    Effect.gen(function* () {
      const env = { ...environment, ...(yield* SecretFiles.read(environment)) } as Record<string, string>
      const { mistakes, unknown } = check(env)
      if (mistakes.length > 0) return yield* new EnvironmentMistaken({ error: mistakes.join("; ") })
      if (unknown.length > 0) {
        const names = unknown.slice(0, mostNames).map((name) => name.slice(0, longestName))
        yield* Effect.logWarning("variables that are no settings").pipe(
          Effect.annotateLogs({ variables: names.join(" "), count: unknown.length })
        )
      }
      return ConfigProvider.fromEnv({ env })
    })
  )
