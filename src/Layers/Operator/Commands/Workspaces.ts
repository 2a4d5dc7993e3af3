import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { WorkspaceId } from "../../../Schemas/Ids.ts"
import type { Execute } from "../Execute.ts"
import { email, json, range } from "./Flags.ts"
import { print } from "./Print.ts"

const workspaceId = Argument.String("workspace").pipe(
  Argument.withDescription("Id of the workspace"),
  Argument.map((id) => id as WorkspaceId)
)
const plans = ["free", "pro"] as const

const workspaceCreate = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "create",
    {
      name: Flag.String("name").pipe(Flag.withDescription("Name of the workspace")),
      owner: Flag.String("owner").pipe(Flag.withDescription("E-mail address of its owner")),
      plan: Flag.Literals("plan", plans).pipe(
        Flag.withDescription("Its plan (free)"),
        Flag.withDefault("free")
      ),
      json
    },
    Effect.fn(function* ({ json, name, owner, plan }) {
      yield* print(yield* execute({ command: "workspace create", name, owner, plan }), json)
    })
  ).pipe(Command.withDescription("Make a workspace"))

const workspaceList = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "list",
    {
      email: Flag.String("email").pipe(
        Flag.withDescription("E-mail address of a user: show those it is a member of (all)"),
        Flag.optional
      ),
      ...range("ws_"),
      json
    },
    Effect.fn(function* ({ after, email, json, limit }) {
      const of = { email: Option.getOrNull(email), after: Option.getOrNull(after) }
      yield* print(yield* execute({ command: "workspace list", ...of, limit }), json)
    })
  ).pipe(Command.withDescription("List workspaces, the oldest first"))

const workspaceMember = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "member",
    {
      workspace: workspaceId,
      email,
      role: Flag.Literals("role", ["owner", "member"]).pipe(
        Flag.withDescription("What it becomes there (member)"),
        Flag.withDefault("member")
      ),
      json
    },
    Effect.fn(function* ({ email, json, role, workspace }) {
      yield* print(yield* execute({ command: "workspace member", workspace, email, role }), json)
    })
  ).pipe(Command.withDescription("Make a user a member or an owner of a workspace"))

const workspacePlan = <E, R>(execute: Execute<E, R>) =>
  Command.make(
    "plan",
    {
      workspace: workspaceId,
      plan: Argument.Literals("plan", plans).pipe(Argument.withDescription("Its new plan")),
      json
    },
    Effect.fn(function* ({ json, plan, workspace }) {
      yield* print(yield* execute({ command: "workspace plan", workspace, plan }), json)
    })
  ).pipe(Command.withDescription("Change the plan of a workspace"))

export const workspace = <E, R>(execute: Execute<E, R>) =>
  Command.make("workspace").pipe(
    Command.withDescription("Workspaces"),
    Command.withSubcommands([
      workspaceCreate(execute),
      workspaceList(execute),
      workspaceMember(execute),
      workspacePlan(execute)
    ])
  )
