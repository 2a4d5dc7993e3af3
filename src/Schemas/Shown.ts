import { textOf } from "./Table.ts"
import { cut } from "./Text.ts"

/** Of what a tool was asked or has answered. */
const longest = 160

/**
 * A text of a model as a terminal may have it: lines and tabs stay, all else that it would take for an order is dropped,
 * and what turns the direction of writing.
 */
export const printable = (text: string): string =>
  text.replace(/[^\P{Cc}\n\t]|[\u2028-\u202E\u2066-\u2069\u200E\u200F\u061C\uFEFF]/gu, "")

/** A value of JSON on one line, cut. */
export const shortOf = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  const flat = (text ?? "").replace(/\s+/gu, " ")
  const head = cut(flat, longest)
  return textOf(head === flat ? head : `${head}…`)
}

/** How long it took, for a person. */
export const secondsOf = (millis: number): string => `${(millis / 1000).toFixed(millis < 10_000 ? 1 : 0)} s`

/** An amount of money: small ones with as many digits as it takes to see them. */
export const dollarsOf = (usd: number): string =>
  `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toPrecision(2)}`
