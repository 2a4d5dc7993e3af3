import * as Effect from "effect/Effect"
import type { AccountCommand, AccountResult } from "../../Schemas/Account.ts"
import { Accounts } from "../../Services/Accounts.ts"
import { reach } from "./Reach.ts"

const answerTimeout = "30 seconds"

/** How a command of the command line is carried out, wherever the database is. */
export type Execute<E, R> = (command: AccountCommand) => Effect.Effect<AccountResult, E, R>

const executeHere = (command: AccountCommand) =>
  Effect.flatMap(Accounts, (accounts) => accounts.execute(command))

/**
 * Carries a command out, also while a server has the embedded database open; where none has, `opened` opens
 * it for the work.
 */
export const execute = Effect.fn("Operator.execute")(
  <E, R>(
    command: AccountCommand,
    opened: (work: ReturnType<typeof executeHere>) => Effect.Effect<AccountResult, E, R>
  ) =>
    reach({
      here: opened(executeHere(command)),
      throughServer: (client) => Effect.timeout(client.accounts.execute({ payload: command }), answerTimeout)
    })
)
