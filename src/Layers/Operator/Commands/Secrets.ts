import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import { namesOf, SecretsError, type SecretsReport } from "../../../Schemas/Secrets.ts"
import { fieldsOf } from "../../../Schemas/Table.ts"
import { writeStderr, writeStdout } from "../../Output.ts"
import { json } from "./Flags.ts"

const sentence = (report: SecretsReport): string | undefined => {
  const { former, plain, unreadable } = report
  if (unreadable > 0) {
    return (
      `${unreadable} secrets can't be opened and stay as they are (${namesOf(report)}): ` +
      "add the key that sealed them to AGENTD_SECRET_KEYS_OLD and run this again, or enter them again"
    )
  }
  const left = former + plain
  return left > 0 ? `${left} secrets were changed all the time meanwhile: run this again` : undefined
}

const reseal = <E, R>(carryOut: (newKey: boolean) => Effect.Effect<SecretsReport, E, R>) =>
  Command.make(
    "reseal",
    {
      newKey: Flag.Boolean("new-key").pipe(
        Flag.withDescription(
          "Make a new key in the data folder first (embedded database, without AGENTD_SECRET_KEY)"
        ),
        Flag.withDefault(false)
      ),
      json
    },
    Effect.fn(function* ({ json, newKey }) {
      const report = yield* carryOut(newKey)
      const { current, resealed, unreadable, unreadableIds } = report
      yield* writeStdout(
        json
          ? JSON.stringify({ resealed, current, unreadable, unreadableIds })
          : fieldsOf({ resealed, "already current": current, unreadable })
      )
      const error = sentence(report)
      if (error !== undefined) return yield* new SecretsError({ error })
      yield* writeStderr("agentd: nothing stored needs a former key any more; backups from before do")
    })
  ).pipe(
    Command.withDescription(
      "Seal everything stored with the present key that former keys have sealed, or none. May be broken off, run again, and " +
        "run while the service runs; exit code 1 where something can't be opened"
    )
  )

export const secrets = <E, R>(carryOut: (newKey: boolean) => Effect.Effect<SecretsReport, E, R>) =>
  Command.make("secrets").pipe(
    Command.withDescription("Stored secrets: API keys of providers, those in the metadata of connectors"),
    Command.withSubcommands([reseal(carryOut)])
  )
