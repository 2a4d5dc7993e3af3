import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Auth from "./Layers/Auth.ts"
import * as Client from "./Layers/Client.ts"
import * as Database from "./Layers/Database.ts"
import * as Environment from "./Layers/Environment.ts"
import { environment } from "./Layers/Inference/Environment.ts"
import * as Doctor from "./Layers/Operator/Commands/Doctor.ts"
import * as Presenter from "./Layers/Operator/Commands/Presenter.ts"
import * as SecretsCommands from "./Layers/Operator/Commands/Secrets.ts"
import * as Tokens from "./Layers/Operator/Commands/Tokens.ts"
import * as Users from "./Layers/Operator/Commands/Users.ts"
import * as Workspaces from "./Layers/Operator/Commands/Workspaces.ts"
import * as Execute from "./Layers/Operator/Execute.ts"
import { problemsOf } from "./Layers/Operator/Problems.ts"
import { serverRuns } from "./Layers/Operator/Reach.ts"
import * as Resealing from "./Layers/Operator/Secrets.ts"
import * as Transfer from "./Layers/Operator/Transfer.ts"
import { writeStdout } from "./Layers/Output.ts"
import * as Embedded from "./Layers/Repo/Postgres/Embedded.ts"
import * as Repo from "./Layers/Repo.ts"
import { runMain, Serving, sentenceOf } from "./Layers/Runtime.ts"
import * as Ring from "./Layers/SecretBox/Ring.ts"
import * as SecretBox from "./Layers/SecretBox.ts"
import * as Settings from "./Layers/Settings.ts"
import { type AccountCommand, AccountError } from "./Schemas/Account.ts"
import { version } from "./Schemas/Version.ts"
import { Accounts } from "./Services/Accounts.ts"
import { DatabaseReport } from "./Services/DatabaseReport.ts"
import { Ids } from "./Services/Ids.ts"
import { Secrets } from "./Services/Secrets.ts"

const layerDatabase = Database.layerOfCommands.pipe(Layer.provide(Settings.layer))

const layerRepos = Repo.layerPostgres.pipe(Layer.provide(layerDatabase), Layer.provide(Settings.layer))

const layerAccounts = Accounts.layer.pipe(
  Layer.provide(Auth.layer),
  Layer.provide(Layer.merge(layerRepos, Ids.layer))
)

/** A path that was mistyped is no reason to make a database there. */
const requireDatabase = Effect.gen(function* () {
  const { dataDir, url } = yield* Settings.database
  if (Option.isSome(url) || (yield* Embedded.examine(dataDir)) === "usable") return
  return yield* new AccountError({
    error: `there is no database in ${dataDir}: npm start makes one, or set AGENTD_DATA_DIR to where it is`
  })
})

const execute = (command: AccountCommand) =>
  Execute.execute(command, (work) => {
    const isFirst = command.command === "bootstrap" || command.command === "user create"
    const done = Effect.provide(work, layerAccounts)
    return isFirst ? done : Effect.andThen(requireDatabase, done)
  })

const layerSecrets = Secrets.layer.pipe(
  Layer.provide(SecretBox.layer),
  Layer.provide(layerRepos),
  Layer.provide(Settings.layer)
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

const exporting = Command.make(
  "export",
  {
    file: Flag.String("file").pipe(Flag.withDescription("File to write (standard output)"), Flag.optional)
  },
  ({ file }) =>
    Transfer.exportData(file, (work) => Effect.andThen(requireDatabase, Effect.provide(work, layerRepos)))
).pipe(Command.withDescription("Write everything in the database, also while the service runs"))

const importing = Command.make(
  "import",
  {
    file: Flag.String("file").pipe(Flag.withDescription("File to read (standard input)"), Flag.optional)
  },
  ({ file }) => Transfer.importData(file, Effect.provide(layerRepos))
).pipe(Command.withDescription("Read an export into an empty database"))

/** Keys as they are: none is made, and what they can't open is what is asked for. */
const layerKeys = Layer.unwrap(
  Effect.map(SecretBox.keys, ({ former, given }) =>
    Ring.layer({ current: Option.getOrUndefined(given), former })
  )
)

const look = Effect.gen(function* () {
  const database = yield* (yield* DatabaseReport).facts
  const secrets = database.schema === null ? undefined : yield* (yield* Secrets).check
  return { database, secrets }
}).pipe(
  Effect.provide(
    Secrets.layer.pipe(
      Layer.provide(layerKeys),
      Layer.provideMerge(Repo.layerReport),
      Layer.provide(Database.layerAsItIs),
      Layer.provide(Settings.layer)
    )
  )
)

const ways = {
  settings: problemsOf({
    environment: process.env,
    mistakes: Environment.mistakes,
    settings: Environment.layerUnchecked,
    sentenceOf,
    checks: [
      Effect.scoped(Layer.build(Settings.layer)),
      Settings.allowLostSecrets,
      environment,
      Effect.flatMap(SecretBox.keys, ({ former, given }) => Ring.idsOf([...Option.toArray(given), ...former]))
    ]
  }),
  key: Effect.map(SecretBox.keys, ({ file, given, place }) => ({
    place,
    isThere: Option.isSome(given),
    isMade: file !== undefined
  })),
  look,
  folder: Embedded.examine,
  sentenceOf
}

/** With the settings of the environment, which have to be right; help and `doctor` are there without. */
const settled = <const Name extends string, Input, ContextInput, E, R>(
  command: Command.Command<Name, Input, ContextInput, E, R>
) => Command.provide(command, Environment.layer(process.env))

const agentd = Command.make("agentd").pipe(
  Command.withDescription("Orchestrates AI agents over REST"),
  Command.withSubcommands([
    settled(serve),
    settled(migrate),
    settled(Users.bootstrap(execute)),
    settled(exporting),
    settled(importing),
    settled(Users.user(execute)),
    settled(Users.signInLink(execute)),
    settled(Tokens.token(execute)),
    settled(Workspaces.workspace(execute)),
    settled(
      SecretsCommands.secrets((newKey) =>
        Resealing.reseal(newKey, (work) =>
          Effect.andThen(requireDatabase, Effect.provide(work, layerSecrets))
        )
      )
    ),
    ...Client.commands,
    Doctor.doctor(ways)
  ])
)

runMain(
  Command.run(agentd, { version }).pipe(Effect.provide(Presenter.layer), Effect.provide(NodeServices.layer))
)
