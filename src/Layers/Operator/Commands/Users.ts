import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { WorkspaceId } from "../../../Schemas/Ids.ts"
import { urlHost } from "../../../Schemas/UrlHost.ts"
import * as Settings from "../../Settings.ts"
import type { Execute } from "../Execute.ts"
import { email, json, range } from "./Flags.ts"
import { print } from "./Print.ts"

export const bootstrap = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "bootstrap",
    { email: email.pipe(Flag.withDefault("owner@localhost")), json },
    Effect.fn(function* ({ email, json }) {
      const { host, port } = yield* Settings.address
      const baseUrl = `http://${urlHost(host)}:${port}`
      yield* print(yield* execute({ command: "bootstrap", email, baseUrl }), json)
    })
  ).pipe(Command.withDescription("Make the first user, workspace and token of an empty database"))

export const signInLink = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "sign-in-link",
    {
      email,
      baseUrl: Flag.String("base-url").pipe(
        Flag.withDescription("Where browsers reach the service (http://HOST:PORT)"),
        Flag.filter(
          (url) => /^https?:\/\/[^\s/?#]+(\/[^\s?#]*)?$/u.test(url),
          () => "an address that begins with http:// or https://"
        ),
        Flag.optional
      ),
      json
    },
    Effect.fn(function* ({ baseUrl, email, json }) {
      const { host, port } = yield* Settings.address
      const url = Option.getOrElse(baseUrl, () => `http://${urlHost(host)}:${port}`)
      yield* print(yield* execute({ command: "sign-in link", email, baseUrl: url }), json)
    })
  ).pipe(Command.withDescription("Print a link that signs a user in to the console, once, for an hour"))

const userCreate = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "create",
    {
      email,
      workspace: Flag.String("workspace").pipe(
        Flag.withDescription("Id of a workspace that the user becomes a member of"),
        Flag.optional
      ),
      json
    },
    Effect.fn(function* ({ email, json, workspace }) {
      const id = Option.getOrNull(workspace) as WorkspaceId | null
      yield* print(yield* execute({ command: "user create", email, workspace: id }), json)
    })
  ).pipe(Command.withDescription("Make a user and print a token for it"))

const userList = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "list",
    { ...range("user_"), json },
    Effect.fn(function* ({ after, json, limit }) {
      yield* print(yield* execute({ command: "user list", after: Option.getOrNull(after), limit }), json)
    })
  ).pipe(Command.withDescription("List users, the oldest first, also those who are disabled"))

const onUser = <E, R>(execute: Execute<E, R>, name: "disable" | "enable" | "delete", description: string) =>
  Command.make(
    name,
    { email, json },
    Effect.fn(function* ({ email, json }) {
      yield* print(yield* execute({ command: `user ${name}`, email }), json)
    })
  ).pipe(Command.withDescription(description))

export const user = <E, R>(execute: Execute<E, R>) =>
  Command.make("user").pipe(
    Command.withDescription("Users"),
    Command.withSubcommands([
      userCreate(execute),
      userList(execute),
      onUser(
        execute,
        "disable",
        "Refuse all tokens and sessions of a user from the next request on, and keep everything; " +
          "cron jobs go on"
      ),
      onUser(execute, "enable", "Let a disabled user in again, with the tokens of before"),
      onUser(
        execute,
        "delete",
        "Remove a user with its tokens, sessions and memberships. Conversations stay for the members of their " +
          "workspaces, and so does who decided on approvals. Refused for the only owner of a workspace"
      )
    ])
  )
