import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { SchemaCheck } from "../Services/SchemaCheck.ts"
import { ToolSource } from "../Services/ToolSource.ts"
import * as Builtin from "./Tools/Builtin.ts"
import * as Connectors from "./Tools/Connectors.ts"

/** What checks values by schemas; its thread and what that needs are loaded with the first check. */
export const layerSchemaCheck = Layer.effect(
  SchemaCheck,
  Effect.gen(function* () {
    const loaded = yield* Effect.promise(() => import("./Tools/SchemaCheck.ts")).pipe(
      Effect.flatMap(({ make }) => make),
      Scope.provide(yield* Effect.scope),
      Effect.uninterruptible,
      Effect.cached
    )
    return SchemaCheck.of({
      check: (question) => Effect.flatMap(loaded, ({ check }) => check(question))
    })
  })
)

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
