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

type Variables = Readonly<Record<string, string | undefined>>

const withFiles = (environment: Variables) =>
  Effect.map(SecretFiles.read(environment), (read) => ({ ...environment, ...read }) as Record<string, string>)

/** What can be seen to be wrong with an environment, a sentence each. */
export const mistakes = (environment: Variables) =>
  Effect.map(withFiles(environment), (env) => check(env).mistakes)

/** The same settings, of which nothing is looked at but what is asked for: for who looks for what is wrong. */
export const layerUnchecked = (environment: Variables) =>
  ConfigProvider.layer(Effect.map(withFiles(environment), (env) => ConfigProvider.fromEnv({ env })))

/**
 * The settings of a process, from its environment and from the files of secrets, which never are in the environment.
 * Everything that can be seen to be wrong about them ends the start at once, in one sentence; of variables `AGENTD_…`
 * that nobody reads the log tells.
 */
export const layer = (environment: Variables) =>
  ConfigProvider.layer(
    Effect.gen(function* () {
      const env = yield* withFiles(environment)
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
