import type * as McpSchema from "effect/ai/McpSchema"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as RcMap from "effect/RcMap"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Outbound } from "../../Services/Outbound.ts"
import { ToolError } from "../../Services/ToolSource.ts"
import type { Connection } from "./Mcp/Client.ts"
import { McpFailure } from "./Mcp/Failure.ts"
import { toResult, toText } from "./Mcp/Result.ts"
import { scrubber } from "./Mcp/Scrub.ts"
import type { McpServer } from "./Mcp/Server.ts"

const connectMillis = 10_000
const closeMillis = 2_000
const maximumConnections = 256
const maximumVersions = 1_024

/** A tool as its server describes it. */
export type McpTool = McpSchema.Tool

export interface McpClients {
  /** The tools of a server: at most a minute old, there within 10 s or not at all. */
  readonly tools: (server: McpServer) => Effect.Effect<ReadonlyArray<McpTool>, McpFailure>
  /**
   * Calls a tool. It is sent twice only if the server has certainly not run it the first time, for it did
   * not know the session. It has no limit of time but that of the caller: interrupting ends the request at
   * once.
   */
  readonly call: (
    server: McpServer,
    tool: McpTool,
    argument: Schema.JsonObject
  ) => Effect.Effect<Schema.Json, McpFailure | ToolError>
}

/**
 * Clients of MCP servers, one connection for each connector, address and headers. Connections are made when
 * they are needed, shared, and closed 5 minutes after their last use, or the longest unused one when there
 * are more than 256. The scope closes what is open, within 2 s.
 */
export const make = Effect.gen(function* () {
  const { guarded } = yield* Outbound

  /** The keys of connections from the longest to the shortest unused, with those that are there. */
  const recent = new Map<string, Connection | undefined>()
  const versions = new Map<string, string>()
  const closing = new Set<Fiber.Fiber<void>>()
  yield* Effect.addFinalizer(() =>
    // The fibers run on their own, so that a server that does not answer can be left behind.
    Effect.timeoutOption(Effect.interruptible(Fiber.awaitAll(closing)), closeMillis)
  )

  const closeAside = (scope: Scope.Closeable) =>
    Effect.map(Effect.forkDetach(Scope.close(scope, Exit.void)), (fiber) => {
      closing.add(fiber)
      fiber.addObserver(() => closing.delete(fiber))
    })

  const open = Effect.fnUntraced(function* (
    key: string
  ): Effect.fn.Return<Connection, McpFailure, Scope.Scope> {
    const server: McpServer = JSON.parse(key)
    const place = `${server.connectorId} ${server.url}`
    // The client is not needed before the first connector is, and takes a while to load.
    const { connect } = yield* Effect.promise(() => import("./Mcp/Client.ts"))
    const scope = yield* Effect.acquireRelease(Scope.make(), closeAside)
    const connection = yield* connect({ server, fetch: guarded, preferred: versions.get(place) }).pipe(
      Scope.provide(scope),
      Effect.timeoutOrElse({ duration: connectMillis, orElse: () => Effect.fail(late(connectMillis)) })
    )
    remember(versions, place, connection.version, maximumVersions)
    yield* Effect.addFinalizer(() => Effect.sync(() => recent.get(key) === connection && recent.delete(key)))
    recent.set(key, connection)
    return connection
  })
  const connections: RcMap.RcMap<string, Connection, McpFailure> = yield* RcMap.make({
    // The map would keep a failure for as long as a connection, also where nobody waits for it any more. It
    // drops by itself only what was interrupted.
    lookup: (key: string) =>
      Effect.onError(open(key), (cause) =>
        // Aside, since closing an entry that nobody uses waits for its lookup: this one. It is out of the map
        // before the failure is told.
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : Effect.forkDetach(forget(key), { startImmediately: true })
      ),
    idleTimeToLive: "5 minutes"
  })

  const forget = (key: string, connection?: Connection) =>
    Effect.suspend(() => {
      if (connection !== undefined && recent.get(key) !== connection) return Effect.void
      recent.delete(key)
      return RcMap.invalidate(connections, key)
    })

  const connected = Effect.fnUntraced(function* (key: string) {
    for (const oldest of remember(recent, key, recent.get(key), maximumConnections)) yield* forget(oldest)
    return yield* RcMap.get(connections, key)
  })

  const use = <A>(server: McpServer, work: (connection: Connection) => Effect.Effect<A, McpFailure>) => {
    const key = JSON.stringify(server)
    const once = Effect.scoped(
      Effect.flatMap(connected(key), (connection) =>
        Effect.tapError(work(connection), ({ reason }) =>
          reason === "answer" ? Effect.void : forget(key, connection)
        )
      )
    )
    return promptly(Effect.catchIf(once, isSessionLost, () => once)).pipe(
      // A bug must not take the whole chat along. What is thrown may show a header: only its name is told.
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("the client of a connector failed", {
            connectorId: server.connectorId,
            defect: defect instanceof Error ? defect.name : typeof defect
          }),
          Effect.fail(new McpFailure({ reason: "answer", error: "the answer of the server can't be read" }))
        )
      )
    )
  }

  return {
    tools: (server) =>
      Effect.timeoutOrElse(
        use(server, (connection) => connection.tools),
        { duration: connectMillis, orElse: () => Effect.fail(late(connectMillis)) }
      ),
    call: Effect.fnUntraced(function* (server, tool, argument) {
      const result = yield* use(server, (connection) => connection.call(tool, argument))
      const scrub = scrubber(server.headers)
      if (result.isError !== true) return toResult(result, scrub)
      const said = toText(result, scrub)
      return yield* new ToolError({ error: said === "" ? "the tool failed without saying why" : said })
    })
  } satisfies McpClients
})

const isSessionLost = ({ reason }: McpFailure): boolean => reason === "session"

const late = (millis: number) =>
  new McpFailure({ reason: "unreachable", error: `the server did not answer within ${millis / 1000} s` })

/** Puts the key last; what is first beyond `limit` is taken out and told. */
const remember = <V>(map: Map<string, V>, key: string, value: V, limit: number): ReadonlyArray<string> => {
  map.delete(key)
  map.set(key, value)
  const over = Array.from(map.keys()).slice(0, Math.max(0, map.size - limit))
  for (const oldest of over) map.delete(oldest)
  return over
}

/**
 * The same, but an interruption does not wait until it is done: to a server that does not answer, taking a
 * request back takes seconds.
 */
const promptly = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(effect), (fiber) =>
      Effect.onInterrupt(restore(Fiber.join(fiber)), () => Effect.forkDetach(Fiber.interrupt(fiber)))
    )
  )
