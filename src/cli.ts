import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Auth from "./Layers/Auth.ts"
import * as Database from "./Layers/Database.ts"
import * as Execute from "./Layers/Operator/Execute.ts"
import { serverRuns } from "./Layers/Operator/Reach.ts"
import * as Transfer from "./Layers/Operator/Transfer.ts"
import { writeStdout } from "./Layers/Output.ts"
import * as Repo from "./Layers/Repo.ts"
import { runMain, Serving } from "./Layers/Runtime.ts"
import * as SecretFiles from "./Layers/SecretFiles.ts"
import * as Settings from "./Layers/Settings.ts"
import { type AccountCommand, AccountError, type AccountResult, daysOf } from "./Schemas/Account.ts"
import type { WorkspaceId } from "./Schemas/Ids.ts"
import { Accounts } from "./Services/Accounts.ts"
import { Ids } from "./Services/Ids.ts"

const layerDatabase = Database.layer.pipe(Layer.provide(Settings.layer))

const layerRepos = Repo.layerPostgres.pipe(Layer.provide(layerDatabase), Layer.provide(Settings.layer))

const layerAccounts = Accounts.layer.pipe(
  Layer.provide(Auth.layer),
  Layer.provide(Layer.merge(layerRepos, Ids.layer))
)

const execute = (command: AccountCommand) => Execute.execute(command, Effect.provide(layerAccounts))

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON object and nothing else"),
  Flag.withDefault(false)
)
const email = Flag.String("email").pipe(Flag.withDescription("E-mail address of the user"))
const plans = ["free", "pro"] as const

const print = (result: AccountResult, asJson: boolean): Effect.Effect<void> =>
  writeStdout(
    asJson
      ? JSON.stringify(result)
      : Object.entries(result)
          .map(([name, value]) => `${name}: ${value}`)
          .join("\n")
  )

const serve = Command.make("serve", {}, () =>
  Effect.gen(function* () {
    yield* (yield* Serving).begin
    const main = yield* Effect.promise(() => import("./main.ts"))
    return yield* Layer.launch(main.layer)
  })
).pipe(Command.withDescription("Run the service"))

const migrate = Command.make("migrate", {}, () =>
  Effect.gen(function* () {
    if (!(yield* serverRuns)) yield* Layer.build(layerDatabase)
    yield* writeStdout("the database is up to date")
  }).pipe(Effect.scoped)
).pipe(Command.withDescription("Bring the database up to date"))

const bootstrap = Command.make(
  "bootstrap",
  { email: email.pipe(Flag.withDefault("owner@localhost")), json },
  Effect.fn(function* ({ email, json }) {
    const { host, port } = yield* Settings.address
    const baseUrl = `http://${host}:${port}`
    yield* print(yield* execute({ command: "bootstrap", email, baseUrl }), json)
  })
).pipe(Command.withDescription("Make the first user, workspace and token of an empty database"))

const userCreate = Command.make(
  "create",
  {
    email,
    workspace: Flag.String("workspace").pipe(
      Flag.withDescription("Workspace that the user becomes a member of"),
      Flag.optional
    ),
    json
  },
  Effect.fn(function* ({ email, json, workspace }) {
    const id = Option.getOrNull(workspace) as WorkspaceId | null
    yield* print(yield* execute({ command: "user create", email, workspace: id }), json)
  })
).pipe(Command.withDescription("Make a user and print a token for it"))

const tokenCreate = Command.make(
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

const workspaceCreate = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("Name of the workspace")),
    owner: Flag.String("owner").pipe(Flag.withDescription("E-mail address of its owner")),
    plan: Flag.Literals("plan", plans).pipe(Flag.withDescription("Its plan"), Flag.withDefault("free")),
    json
  },
  Effect.fn(function* ({ json, name, owner, plan }) {
    yield* print(yield* execute({ command: "workspace create", name, owner, plan }), json)
  })
).pipe(Command.withDescription("Make a workspace"))

const workspacePlan = Command.make(
  "plan",
  {
    workspace: Argument.String("workspace").pipe(Argument.withDescription("Id of the workspace")),
    plan: Argument.Literals("plan", plans).pipe(Argument.withDescription("Its new plan")),
    json
  },
  Effect.fn(function* ({ json, plan, workspace }) {
    const id = workspace as WorkspaceId
    yield* print(yield* execute({ command: "workspace plan", workspace: id, plan }), json)
  })
).pipe(Command.withDescription("Change the plan of a workspace"))

const exporting = Command.make(
  "export",
  {
    file: Flag.String("file").pipe(Flag.withDescription("File to write (standard output)"), Flag.optional)
  },
  ({ file }) => Transfer.exportData(file, Effect.provide(layerRepos))
).pipe(Command.withDescription("Write everything in the database, also while the service runs"))

const importing = Command.make(
  "import",
  {
    file: Flag.String("file").pipe(Flag.withDescription("File to read (standard input)"), Flag.optional)
  },
  ({ file }) => Transfer.importData(file, Effect.provide(layerRepos))
).pipe(Command.withDescription("Read an export into an empty database"))

const agentd = Command.make("agentd").pipe(
  Command.withDescription("Orchestrates AI agents over REST"),
  Command.withSubcommands([
    serve,
    migrate,
    bootstrap,
    exporting,
    importing,
    Command.make("user").pipe(Command.withDescription("Users"), Command.withSubcommands([userCreate])),
    Command.make("token").pipe(Command.withDescription("Tokens"), Command.withSubcommands([tokenCreate])),
    Command.make("workspace").pipe(
      Command.withDescription("Workspaces"),
      Command.withSubcommands([workspaceCreate, workspacePlan])
    )
  ])
)

runMain(
  Command.run(agentd, { version: "0.1.0" }).pipe(
    Effect.provide(NodeServices.layer),
    Effect.provide(SecretFiles.layer(process.env))
  )
)
