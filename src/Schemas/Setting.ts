import { wholeNumberOf } from "./WholeNumber.ts"

/** What all settings say of themselves. */
interface Described {
  /** What it means, in Markdown without line breaks, as the table of docs/settings.md has it. */
  readonly what: string
  /** White space around the value is none of it. */
  readonly trimmed?: true
  /** Also has a meaning for commands of the command line; else for the server alone. */
  readonly commands?: true
  /** Never shown; may be in the file that `<name>_FILE` names instead. */
  readonly secret?: true
}

/** A whole number in plain digits, within bounds. */
export interface Whole<Fallback extends number | null = number | null> extends Described {
  readonly type: "whole"
  readonly minimum: number
  readonly maximum: number
  readonly unit: string
  /** In its unit; null: what is without a value is said in `what`. */
  readonly fallback: Fallback
}

/** `true` or `false`. */
export interface Flag extends Described {
  readonly type: "flag"
  readonly fallback: boolean
}

/** One of a few words. */
export interface Choice<Value extends string = string, Fallback extends Value | null = Value | null>
  extends Described {
  readonly type: "choice"
  readonly values: ReadonlyArray<Value>
  readonly fallback: Fallback
}

/** Any other text. */
export interface Text<Fallback extends string | null = string | null> extends Described {
  readonly type: "text"
  /** What it looks like, for the table. */
  readonly form: string
  /** What is wrong with a value, as a predicate (`must be …`) that never repeats it. */
  readonly problem: (value: string) => string | undefined
  readonly fallback: Fallback
}

/** A variable that an operator can set. */
export type Setting = Whole | Flag | Choice | Text

/** How long one of such a unit is. */
const unitMillis: Readonly<Record<string, number>> = {
  milliseconds: 1,
  seconds: 1000,
  hours: 3_600_000,
  days: 86_400_000
}

/** What `value` of this setting is in milliseconds; of one that is no time, a defect. */
export const millisOf = ({ unit }: Whole, value: number): number => {
  const millis = unitMillis[unit]
  if (millis === undefined) throw new Error(`${unit} are no time`)
  return value * millis
}

/** What is wrong with a value, as a predicate that never repeats it. Empty is as good as unset, and so never wrong. */
export const problemOf = (setting: Setting, given: string): string | undefined => {
  const value = setting.trimmed === true ? given.trim() : given
  if (value === "") return undefined
  switch (setting.type) {
    case "whole":
      return wholeNumberOf(value, setting.minimum, setting.maximum) === undefined
        ? `must be a whole number from ${setting.minimum} to ${setting.maximum}`
        : undefined
    case "flag":
      return value === "true" || value === "false" ? undefined : "must be true or false"
    case "choice":
      return setting.values.includes(value) ? undefined : `must be one of ${setting.values.join(", ")}`
    case "text":
      return setting.problem(value)
  }
}

/** What values look like, for the table. */
export const formOf = (setting: Setting): string => {
  switch (setting.type) {
    case "whole":
      return `${setting.minimum} to ${setting.maximum}${setting.unit === "" ? "" : ` ${setting.unit}`}`
    case "flag":
      return "`true` or `false`"
    case "choice":
      return setting.values.map((value) => `\`${value}\``).join(", ")
    case "text":
      return setting.form
  }
}
