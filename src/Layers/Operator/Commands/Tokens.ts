import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AccountError, daysOf } from "../../../Schemas/Account.ts"
import type { TokenId } from "../../../Schemas/Ids.ts"
import type { Execute } from "../Execute.ts"
import { email, json, ofEmail, range } from "./Flags.ts"
import { print } from "./Print.ts"

const tokenCreate = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "create",
    {
      email,
      expiresIn: Flag.String("expires-in").pipe(
        Flag.withDescription("How long the token works: 12h, 30d, 2w (for ever)"),
        Flag.optional
      ),
      json
    },
    Effect.fn(function* ({ email, expiresIn, json }) {
      const expiresInDays = Option.isNone(expiresIn) ? null : daysOf(expiresIn.value)
      if (expiresInDays === undefined) {
        return yield* new AccountError({
          error: "--expires-in: must look like 12h, 30d or 2w, ten years at most"
        })
      }
      yield* print(yield* execute({ command: "token create", email, expiresInDays }), json)
    })
  ).pipe(Command.withDescription("Make another token for a user and print it"))

const tokenList = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "list",
    { email: ofEmail, ...range("token_"), json },
    Effect.fn(function* ({ after, email, json, limit }) {
      const of = { email: Option.getOrNull(email), after: Option.getOrNull(after) }
      yield* print(yield* execute({ command: "token list", ...of, limit }), json)
    })
  ).pipe(
    Command.withDescription("List tokens and sessions that work, the oldest first, without their secrets")
  )

const tokenRevoke = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "revoke",
    {
      token: Argument.String("token").pipe(
        Argument.withDescription("Id of the token, as `token list` shows it"),
        Argument.map((id) => id as TokenId)
      ),
      json
    },
    Effect.fn(function* ({ json, token }) {
      yield* print(yield* execute({ command: "token revoke", token }), json)
    })
  ).pipe(Command.withDescription("Refuse a token, and all that it made, from the next request on, for good"))

export const token = <E, R>(execute: Execute<E, R>) =>
  Command.make("token").pipe(
    Command.withDescription("Tokens"),
    Command.withSubcommands([tokenCreate(execute), tokenList(execute), tokenRevoke(execute)])
  )
