import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Auth from "./Layers/Auth.ts"
import * as Database from "./Layers/Database.ts"
import * as Environment from "./Layers/Environment.ts"
import * as Presenter from "./Layers/Operator/Commands/Presenter.ts"
import * as Tokens from "./Layers/Operator/Commands/Tokens.ts"
import * as Users from "./Layers/Operator/Commands/Users.ts"
import * as Workspaces from "./Layers/Operator/Commands/Workspaces.ts"
import * as Execute from "./Layers/Operator/Execute.ts"
import { serverRuns } from "./Layers/Operator/Reach.ts"
import * as Transfer from "./Layers/Operator/Transfer.ts"
import { writeStdout } from "./Layers/Output.ts"
import * as Repo from "./Layers/Repo.ts"
import { runMain, Serving } from "./Layers/Runtime.ts"
import * as Settings from "./Layers/Settings.ts"
import type { AccountCommand } from "./Schemas/Account.ts"
import { version } from "./Schemas/Version.ts"
import { Accounts } from "./Services/Accounts.ts"
import { Ids } from "./Services/Ids.ts"

const layerDatabase = Database.layer.pipe(Layer.provide(Settings.layer))

const layerRepos = Repo.layerPostgres.pipe(Layer.provide(layerDatabase), Layer.provide(Settings.layer))

const layerAccounts = Accounts.layer.pipe(
  Layer.provide(Auth.layer),
  Layer.provide(Layer.merge(layerRepos, Ids.layer))
)

const execute = (command: AccountCommand) => Execute.execute(command, Effect.provide(layerAccounts))

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
    Users.bootstrap(execute),
    exporting,
    importing,
    Users.user(execute),
    Tokens.token(execute),
    Workspaces.workspace(execute)
  ])
)

runMain(
  Command.run(agentd, { version }).pipe(
    Effect.provide(Presenter.layer),
    Effect.provide(NodeServices.layer),
    Effect.provide(Environment.layer(process.env))
  )
)
