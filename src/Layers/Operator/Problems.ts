import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"

type Environment = Readonly<Record<string, string | undefined>>

/** More variables than there are. */
const most = 100

/** Of the variable that names the file which the value of another is in. */
const ofFile = /_FILE$/u

/** The variable that a sentence is about. */
const variableOf = (sentence: string): string | undefined =>
  /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\b/u.exec(sentence)?.[0].replace(ofFile, "")

const without = (environment: Environment, hidden: ReadonlySet<string>): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !hidden.has(name.replace(ofFile, ""))))

/**
 * Everything that checks find wrong with an environment. Each ends with the first mistake that it meets, as a start
 * does: the variable is left out then, and the check done again. `rest` is the environment without what is wrong.
 */
export const problemsOf = Effect.fnUntraced(function* <E>(given: {
  readonly environment: Environment
  /** What can be seen without a check. */
  readonly mistakes: (environment: Environment) => Effect.Effect<ReadonlyArray<string>, E>
  readonly settings: (environment: Environment) => Layer.Layer<never, E>
  readonly checks: ReadonlyArray<Effect.Effect<unknown, unknown>>
  readonly sentenceOf: (error: unknown) => string
}) {
  const seen = yield* Effect.result(given.mistakes(given.environment))
  const problems = new Set<string>(Result.isSuccess(seen) ? seen.success : [])
  const hidden = new Set<string>()
  for (const check of given.checks) {
    for (let time = 0; time < most; time++) {
      const settings = given.settings(without(given.environment, hidden))
      const done = yield* Effect.result(Effect.provide(check, settings, { local: true }))
      if (Result.isSuccess(done)) break
      const sentence = given.sentenceOf(done.failure)
      problems.add(sentence)
      const name = variableOf(sentence)
      if (
        name === undefined ||
        hidden.has(name) ||
        !(name in given.environment || `${name}_FILE` in given.environment)
      ) {
        break
      }
      hidden.add(name)
    }
  }
  return { problems: [...problems], hidden, rest: given.settings(without(given.environment, hidden)) }
})
