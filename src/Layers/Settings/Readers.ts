import * as Config from "effect/Config"
import * as Schema from "effect/Schema"
import { type Choice, type Flag, millisOf, problemOf, type Whole } from "../../Schemas/Setting.ts"
import { type NameOf, type SettingName, settings } from "../../Schemas/SettingsTable.ts"

/** What the table says of it, read: a value that can't be ends the start with its sentence. Empty is as good as unset. */
export const word = (name: SettingName) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((value: string) => {
        const problem = problemOf(settings[name], value)
        return problem === undefined ? undefined : `${name} ${problem}`
      })
    ),
    name
  )

export const whole = (name: NameOf<Whole<number>>, fallback: number = settings[name].fallback) =>
  word(name).pipe(Config.map(Number), Config.withDefault(fallback))

/** In milliseconds, whatever its unit. */
export const time = (name: NameOf<Whole<number>>) =>
  Config.map(whole(name), (value) => millisOf(settings[name], value))

export const flag = (name: NameOf<Flag>) =>
  word(name).pipe(
    Config.map((value) => value === "true"),
    Config.withDefault(settings[name].fallback)
  )

export const choice = <Name extends NameOf<Choice>>(name: Name) =>
  word(name).pipe(Config.map((value) => value as (typeof settings)[Name]["values"][number]))
