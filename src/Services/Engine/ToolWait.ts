import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { HandedBack } from "../../Schemas/Execution.ts"
import { ToolUnavailable } from "../../Schemas/ToolAbsence.ts"
import { Lifecycle } from "../Lifecycle.ts"
import { Settings } from "../Settings.ts"
import { quoting } from "../Telemetry.ts"

const firstPauseMillis = 500
const longestPauseMillis = 10_000

/**
 * Tries again while a tool can't be had, less and less often, for `AGENTD_TOOL_WAIT_SECONDS` and then a last time
 * (CONTRACT.md section 5); what is gone for good is not waited for. A try under way is never cut off by that. When the
 * process stops it waits no longer (`HandedBack`): whoever takes the run up waits anew.
 */
export const make = Effect.gen(function* () {
  const lifecycle = yield* Lifecycle
  const { toolWaitMillis } = yield* Settings

  return <A, E, R>(attempt: Effect.Effect<A, E | ToolUnavailable, R>) =>
    Effect.scoped(
      Effect.gen(function* () {
        let limit: Fiber.Fiber<void> | undefined
        for (let pause = firstPauseMillis; ; pause = Math.min(2 * pause, longestPauseMillis)) {
          const tried = yield* Effect.result(attempt)
          if (Result.isSuccess(tried)) return tried.success
          const error = tried.failure
          if (!(error instanceof ToolUnavailable) || error.isGone) return yield* Effect.fail(error)
          if (limit === undefined) {
            yield* Effect.annotateLogs(quoting(Effect.logInfo("work waits for a tool")), {
              error: error.error
            })
            limit = yield* Effect.forkScoped(Effect.sleep(toolWaitMillis))
          } else if (limit.pollUnsafe() !== undefined) return yield* error
          const awake = Effect.raceFirst(Effect.sleep(pause), Fiber.join(limit))
          const isStopping = yield* Effect.raceFirst(
            Effect.as(lifecycle.draining, true),
            Effect.as(awake, false)
          )
          if (isStopping) return yield* new HandedBack()
        }
      })
    )
})

export type AwaitTool = Effect.Success<typeof make>
