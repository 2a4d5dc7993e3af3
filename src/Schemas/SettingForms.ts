import * as DatabaseUrl from "./DatabaseUrl.ts"
import * as Networks from "./Networks.ts"
import { isApiKey, isBaseUrl } from "./ProviderKey.ts"
import type { Choice, Flag, Setting, Text, Whole } from "./Setting.ts"

type Given<S extends Setting> = Omit<S, "type" | "what">

export const whole = <Fallback extends number | null>(
  what: string,
  given: Given<Whole<Fallback>>
): Whole<Fallback> => ({ type: "whole", what, ...given })

export const flag = (what: string, given: Given<Flag>): Flag => ({ type: "flag", what, ...given })

export const choice = <const Value extends string, const Fallback extends Value | null>(
  what: string,
  given: Given<Choice<Value, Fallback>>
): Choice<Value, Fallback> => ({ type: "choice", what, ...given })

export const text = <Fallback extends string | null>(
  what: string,
  given: Given<Text<Fallback>>
): Text<Fallback> => ({ type: "text", what, ...given })

/** What is wrong with a text that has to show something. */
export const visible = (value: string) => (value.trim() === "" ? "must not be white space" : undefined)

export const apiKey = (what: string) =>
  text(what, {
    form: "visible ASCII characters",
    problem: (value) => (isApiKey(value) ? undefined : "must be visible ASCII characters"),
    fallback: null,
    trimmed: true,
    secret: true
  })

export const baseUrl = (what: string) =>
  text(what, {
    form: "`http://…` or `https://…`",
    problem: (value) =>
      isBaseUrl(value) ? undefined : "must be an http or https address without a user name",
    fallback: null,
    trimmed: true
  })

export const networks = (what: string) =>
  text(what, {
    form: "networks, addresses, `localhost`, separated by commas",
    problem: Networks.problemOf,
    fallback: null
  })

export const perMinute = (what: string, fallback: number) =>
  whole(what, { minimum: 0, maximum: 10_000_000, unit: "", fallback })

export const seconds = (what: string, fallback: number, maximum: number) =>
  whole(what, { minimum: 1, maximum, unit: "seconds", fallback })

export const hours = (what: string, fallback: number, maximum: number) =>
  whole(what, { minimum: 1, maximum, unit: "hours", fallback })

/** Where a PostgreSQL is; for the server alone unless it says `commands`. */
export const databaseAddress = (what: string, more: { readonly commands?: true } = {}) =>
  text(what, {
    form: "`postgres://user:password@host:5432/database`",
    problem: DatabaseUrl.problemOf,
    fallback: null,
    secret: true,
    ...more
  })
