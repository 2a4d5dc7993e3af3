import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Predicate from "effect/Predicate"
import * as Runtime from "effect/Runtime"
import { writeStderr } from "./Operator/Output.ts"

/** The log goes to standard error, so that standard output holds only what was asked for. */
const layerLogger = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/**
 * Runs the program until it ends or is told to stop (SIGTERM, SIGINT: exit code 0). A failure is one
 * sentence on standard error and exit code 1; a defect is a bug and comes with its stack.
 */
export const runMain = <A, E>(program: Effect.Effect<A, E>): void =>
  NodeRuntime.runMain(program.pipe(Effect.tapCause(report), Effect.provide(layerLogger)), {
    disableErrorReporting: true,
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
        ? onExit(0)
        : Runtime.defaultTeardown(exit, onExit)
  })

const report = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure === undefined) return writeStderr(Cause.pretty(cause))
  const isReported = Predicate.hasProperty(failure.error, Runtime.errorReported)
  return isReported ? Effect.void : writeStderr(`agentd: ${sentenceOf(failure.error)}`)
}

const sentenceOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return String(error)
  if ("error" in error && typeof error.error === "string") return error.error
  if ("_tag" in error && error._tag === "ServeError" && "cause" in error) return sentenceOf(error.cause)
  if ("code" in error && error.code === "EADDRINUSE" && "port" in error) {
    return `port ${error.port} is in use; set PORT to another one`
  }
  if ("cause" in error && error.cause instanceof Error && error.cause.message !== "") {
    return `${"message" in error ? `${error.message}: ` : ""}${error.cause.message}`
  }
  return "message" in error ? String(error.message) : String(error)
}
