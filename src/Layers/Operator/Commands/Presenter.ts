import * as CliOutput from "effect/cli/CliOutput"
import * as Effect from "effect/Effect"
import { writeStderr } from "../../Output.ts"

/** Help that nobody asked for goes where errors go: standard output has what was asked for, or nothing. */
export const layer = CliOutput.layerPresenter({
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Effect.flatMap(CliOutput.Formatter, (formatter) =>
          writeStderr(`${formatter.formatHelpDoc(event.helpDoc)}\n${formatter.formatErrors(event.errors)}`)
        )
      : CliOutput.defaultPresenter.present(event)
})
