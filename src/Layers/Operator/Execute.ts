import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AccountCommand } from "../../Schemas/Account.ts"
import { Accounts } from "../../Services/Accounts.ts"
import { Ids } from "../../Services/Ids.ts"
import * as Auth from "../Auth.ts"
import * as Database from "../Database.ts"
import * as Repo from "../Repo.ts"
import * as Settings from "../Settings.ts"
import { reach } from "./Reach.ts"

const answerTimeout = "30 seconds"

/** Carries a command out on the database itself. */
const layerLocal = Accounts.layer.pipe(
  Layer.provide(Auth.layer),
  Layer.provide(Layer.merge(Repo.layerPostgres, Ids.layer)),
  Layer.provide(Database.layer),
  Layer.provide(Settings.layer)
)

/** Carries a command out, also while a server has the embedded database open. */
export const execute = Effect.fn("Operator.execute")((command: AccountCommand) =>
  reach({
    here: Effect.provide(
      Effect.flatMap(Accounts, (accounts) => accounts.execute(command)),
      layerLocal
    ),
    throughServer: (client) => Effect.timeout(client.accounts.execute({ payload: command }), answerTimeout)
  })
)
