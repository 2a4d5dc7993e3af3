import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { LogLevel } from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as References from "effect/References"
import * as Runtime from "effect/Runtime"
import { messageOf, rootOf } from "../Schemas/Reason.ts"
import { writeStderr } from "./Output.ts"
import { formats } from "./Runtime/Log.ts"
import { logging } from "./Settings.ts"

const levels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error"
} as const satisfies Record<string, LogLevel>

const usualLog = { format: Option.none(), level: "info" } as const

/**
 * The log goes to standard error, so that standard output holds only what was asked for: for people on a terminal,
 * for machines elsewhere, unless the operator says how. What is wrong with that is told with all other settings.
 */
const layerLogger = Layer.unwrap(
  Effect.map(
    Effect.orElseSucceed(logging, () => usualLog),
    ({ format, level }) => {
      const chosen = Option.getOrElse(format, () => (process.stderr.isTTY ? "logfmt" : "json"))
      return Layer.merge(
        Logger.layer([Logger.withConsoleError(formats[chosen])]),
        Layer.succeed(References.MinimumLogLevel, levels[level])
      )
    }
  )
)

/** How a program says that it is a service from now on, for which being told to stop is the usual end. */
export class Serving extends Context.Service<Serving, { readonly begin: Effect.Effect<void> }>()(
  "agentd/Layers/Runtime/Serving"
) {}

/** Nobody reads spans: none are made, but where a service has a collector for them (`Layers/Telemetry.ts`). */
const layerTracing = Layer.succeed(References.TracerEnabled, false)

/**
 * Runs the program until it ends or is told to stop (SIGTERM, SIGINT: exit code 0 for a service, 130 for a
 * command, which is not done then). A failure is one sentence on standard error and exit code 1; a defect is
 * a bug and comes with its stack.
 */
export const runMain = <A, E>(
  program: Effect.Effect<A, E, Serving>,
  { isService = false }: { readonly isService?: boolean } = {}
): void => {
  let serves = isService
  const begin = Effect.sync(() => {
    serves = true
  })
  const main = Effect.provideService(program, Serving, { begin })
  NodeRuntime.runMain(main.pipe(Effect.provide([layerLogger, layerTracing]), Effect.tapCause(report)), {
    disableErrorReporting: true,
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) && serves
        ? onExit(0)
        : Runtime.defaultTeardown(exit, onExit)
  })
}

const report = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure === undefined) return writeStderr(Cause.pretty(cause))
  const isReported = Predicate.hasProperty(failure.error, Runtime.errorReported)
  return isReported ? Effect.void : writeStderr(`agentd: ${sentenceOf(failure.error)}`)
}

/** What an operator is told of a failure. */
export const sentenceOf = (error: unknown): string => {
  if (!Predicate.isObject(error)) return String(error)
  if ("error" in error && typeof error.error === "string") return error.error
  if (Predicate.isTagged(error, "ConfigError")) return configSentence(error)
  const cause = rootOf(error)
  if ("code" in cause && cause.code === "EADDRINUSE" && "port" in cause) {
    return `port ${cause.port} is in use; set PORT to another one`
  }
  if (Predicate.isTagged(error, "ServeError")) return `HOST or PORT: ${messageOf(cause)}`
  if (Predicate.isTagged(error, "SqlError"))
    return `the database of DATABASE_URL can't be used: ${messageOf(cause)}`
  return messageOf(cause)
}

/** `PORT must be …`: the variable at fault and the rule, without the ways in which the value was read. */
const configSentence = (error: object): string => {
  const message = messageOf(error)
  const [, said] = /([A-Z_]+ must [^\n]+)/u.exec(message) ?? []
  return said ?? message
}
