import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ToolSource } from "../Services/ToolSource.ts"
import * as Builtin from "./Tools/Builtin.ts"
import * as Connectors from "./Tools/Connectors.ts"

/** The tools of this process: the built-in ones, and those of connectors. */
export const layer = Layer.effect(
  ToolSource,
  Effect.gen(function* () {
    const builtin = yield* Builtin.make
    const connectors = yield* Connectors.make
    return ToolSource.of({
      builtin: builtin.tools,
      find: connectors.find,
      check: connectors.check,
      ofConnector: connectors.ofConnector,
      tools: (scope) =>
        Effect.map(connectors.tools(scope), ({ absent, tools }) => ({
          absent,
          tools: [...builtin.tools(scope), ...tools]
        }))
    })
  })
)
