import * as Fs from "node:fs"
import { createServer } from "node:net"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import {
  type DatabaseFacts,
  type Finding,
  fail,
  findingOfKey,
  findingOfNode,
  findingOfSecrets,
  findingOfSpace,
  findingsOfDatabase,
  ok,
  warn
} from "../../Schemas/Doctor.ts"
import type { SecretsReport } from "../../Schemas/Secrets.ts"
import * as Settings from "../Settings.ts"
import { reach, serverRuns } from "./Reach.ts"

/** Those that package.json names. */
export const neededNode = [22, 19] as const
/** What takes longer is given up: the database is away, or frozen. */
const lookTimeout = "30 seconds"
const healthTimeoutMillis = 2_000

/** What the database, and the secrets in it, are found to be. */
export interface Looked {
  readonly database: DatabaseFacts
  /** None where there is no table of them yet. */
  readonly secrets: SecretsReport | undefined
}

/** What a program gives that knows how each is done. */
export interface Ways<E, R> {
  /** Everything that is wrong with the settings, in sentences; the variables at fault; and the settings without. */
  readonly settings: Effect.Effect<{
    readonly problems: ReadonlyArray<string>
    readonly hidden: ReadonlySet<string>
    readonly rest: Layer.Layer<never, unknown>
  }>
  /** The sealing key and where it is; fails where the settings say. */
  readonly key: Effect.Effect<
    { readonly place: string; readonly isThere: boolean; readonly isMade: boolean },
    unknown
  >
  /** Opens the database as it is. */
  readonly look: Effect.Effect<Looked, E, R>
  /** What is in a data folder, of which nothing is made; fails where a start would refuse it. */
  readonly folder: (dataDir: string) => Effect.Effect<"missing" | "usable", unknown>
  readonly sentenceOf: (error: unknown) => string
}

/** The nearest folder that is there, of which a path will be a part. */
const existing = (path: string): string => (Fs.existsSync(path) ? path : existing(dirname(path)))

const folderFindings = (dataDir: string, hasDatabase: boolean): ReadonlyArray<Finding> => {
  try {
    const place = existing(dataDir)
    const { bavail, bsize } = Fs.statfsSync(place)
    const space = findingOfSpace(place, bavail * bsize)
    try {
      Fs.accessSync(place, Fs.constants.R_OK | Fs.constants.W_OK | Fs.constants.X_OK)
    } catch {
      const remedy = "let the user of the service write there, or set AGENTD_DATA_DIR to another folder"
      return [fail("data folder", `${place} can't be written to`, remedy), space]
    }
    if (place !== dataDir) return [ok("data folder", `the first start makes ${dataDir}`), space]
    const mode = Fs.statSync(dataDir).mode & 0o777
    if (hasDatabase && mode !== 0o700) {
      const found = `${dataDir} has the mode ${mode.toString(8)}: others can look into it`
      return [warn("data folder", found, `chmod 700 ${dataDir} (each start does that)`), space]
    }
    return [ok("data folder", dataDir), space]
  } catch (cause) {
    const found = `${dataDir} can't be looked at: ${cause instanceof Error ? cause.message : String(cause)}`
    return [fail("data folder", found, "set AGENTD_DATA_DIR to a folder that can be written to")]
  }
}

const isAgentd = (host: string, port: number) =>
  Effect.promise(async () => {
    const name = host === "0.0.0.0" || host === "" ? "127.0.0.1" : host === "::" ? "::1" : host
    const authority = name.includes(":") ? `[${name}]` : name
    try {
      const answer = await fetch(`http://${authority}:${port}/health/live`, {
        signal: AbortSignal.timeout(healthTimeoutMillis)
      })
      return answer.status === 200 && answer.headers.has("x-request-id")
    } catch {
      return false
    }
  })

/** Listens for a moment, where nobody else does. */
const listening = (host: string, port: number) =>
  Effect.callback<string | undefined>((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.succeed(error.code ?? error.message))
    )
    server.listen({ host, port, exclusive: true }, () =>
      server.close(() => resume(Effect.succeed(undefined)))
    )
  })

const portFinding = Effect.gen(function* () {
  const { host, port } = yield* Settings.address
  if (port === 0) return ok("port", `a free one of ${host} is picked at each start`)
  const problem = yield* listening(host, port)
  if (problem === undefined) return ok("port", `${host}:${port} is free`)
  if (problem !== "EADDRINUSE") return fail("port", `${host}:${port}: ${problem}`, "set HOST and PORT")
  return (yield* isAgentd(host, port))
    ? ok("port", `${host}:${port} is held by a running agentd`)
    : fail("port", `${host}:${port} is held by another program`, "stop it, or set PORT")
})

const silent = (sentence: string, isEmbedded: boolean): Finding =>
  fail(
    "database",
    `can't be used: ${sentence}`,
    isEmbedded
      ? "stop what has the data folder open, or set AGENTD_DATA_DIR"
      : "check DATABASE_URL, and that the server runs and can be reached from here"
  )

/** What the database is found to be, in bounded time: work that hangs is left behind. */
const databaseFindings = <E, R>(ways: Ways<E, R>, pool: number, isEmbedded: boolean) =>
  Effect.gen(function* () {
    const look = reach({
      here: ways.look,
      throughServer: (client) => client.doctor.look()
    })
    const fiber = yield* Effect.forkDetach(look)
    const ended = yield* Effect.timeoutOption(Fiber.await(fiber), lookTimeout)
    if (Option.isNone(ended)) return [silent("it does not answer", isEmbedded)]
    if (Exit.isFailure(ended.value)) {
      const failure = ended.value.cause.reasons.find((reason) => reason._tag !== "Interrupt")
      const error = failure?._tag === "Fail" ? failure.error : failure?.defect
      return [silent(ways.sentenceOf(error), isEmbedded)]
    }
    const { database, secrets } = ended.value.value
    return [
      ...findingsOfDatabase(database, pool),
      ...(secrets === undefined ? [] : [findingOfSecrets(secrets)])
    ]
  })

const placeFindings = <E, R>(ways: Ways<E, R>) =>
  Effect.gen(function* () {
    const { dataDir, url } = yield* Settings.database
    const pool = yield* Settings.databasePool
    const isEmbedded = Option.isNone(url)
    const state = isEmbedded ? yield* Effect.result(ways.folder(dataDir)) : Result.succeed("usable" as const)
    if (Result.isFailure(state)) {
      return [
        fail(
          "data folder",
          ways.sentenceOf(state.failure),
          "set AGENTD_DATA_DIR to a folder for agentd alone"
        ),
        warn("database", "not looked at", "mend the data folder first")
      ]
    }
    const hasDatabase = state.success === "usable"
    const folder = isEmbedded ? folderFindings(dataDir, hasDatabase) : []
    if (isEmbedded && !hasDatabase && !(yield* serverRuns)) {
      return [...folder, ok("database", "none yet: the first start makes it")]
    }
    return [...folder, ...(yield* databaseFindings(ways, pool, isEmbedded))]
  })

/**
 * Looks at everything that a start needs, and changes nothing: no database is made or migrated, and no key. What is
 * wrong is in what is found, never a failure.
 */
export const examine = <E, R>(ways: Ways<E, R>) =>
  Effect.gen(function* () {
    const { hidden, problems, rest } = yield* ways.settings
    const settings =
      problems.length === 0
        ? [ok("settings", "no mistake in the variables")]
        : problems.map((problem) => fail("settings", problem, "see docs/settings.md"))
    // With the keys unknown, those of another place would be looked at.
    const areKeysKnown = !hidden.has("AGENTD_SECRET_KEY") && !hidden.has("AGENTD_SECRET_KEYS_OLD")
    const isPlaceKnown = !hidden.has("DATABASE_URL") && !hidden.has("AGENTD_DATA_DIR")
    const found = Effect.gen(function* () {
      const places = isPlaceKnown
        ? yield* placeFindings(ways)
        : [warn("database", "not looked at", "mend the settings first")]
      const isLost = places.some(({ check, status }) => check === "secrets" && status === "fail")
      const key = isPlaceKnown && areKeysKnown ? yield* Effect.option(ways.key) : Option.none()
      return [
        ...places.filter(({ check }) => areKeysKnown || check !== "secrets"),
        ...Option.toArray(
          Option.map(key, ({ isMade, isThere, place }) => findingOfKey(place, { isLost, isMade, isThere }))
        ),
        ...(hidden.has("HOST") || hidden.has("PORT") ? [] : [yield* portFinding])
      ]
    })
    return [
      findingOfNode(process.versions.node, neededNode),
      ...settings,
      ...(yield* Effect.provide(found, rest, { local: true }))
    ]
  })
