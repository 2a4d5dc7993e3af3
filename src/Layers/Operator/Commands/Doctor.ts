import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Finding, statusOf } from "../../../Schemas/Doctor.ts"
import { textOf } from "../../../Schemas/Table.ts"
import { writeStdout } from "../../Output.ts"
import { examine, type Ways } from "../Doctor.ts"
import { json } from "./Flags.ts"

class Unwell extends Schema.TaggedError<Unwell>()("Unwell", { error: Schema.String }) {}

const lineOf = ({ check, found, remedy, status }: Finding): string => {
  const line = `${status.padEnd(4)}  ${check.padEnd(12)}  ${textOf(found)}`
  return remedy === null ? line : `${line}\n${" ".repeat(20)}-> ${textOf(remedy)}`
}

export const doctor = <E, R>(ways: Ways<E, R>) =>
  Command.make(
    "doctor",
    { json },
    Effect.fn(function* ({ json }) {
      const checks = yield* examine(ways)
      yield* writeStdout(
        json ? JSON.stringify({ status: statusOf(checks), checks }) : checks.map(lineOf).join("\n")
      )
      const failed = checks.filter(({ status }) => status === "fail").length
      if (failed > 0) return yield* new Unwell({ error: `${failed} of ${checks.length} checks failed` })
    })
  ).pipe(
    Command.withDescription(
      "Check settings, database, rights, clocks, keys, disk and port, and say what to do. Changes nothing; exit code " +
        "1 when a check fails"
    )
  )
