import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as RcMap from "effect/RcMap"
import * as Scope from "effect/Scope"
import { Outbound } from "../../../Services/Outbound.ts"
import type { Connection } from "./Client.ts"
import { late, type McpFailure } from "./Failure.ts"
import type { McpServer } from "./Server.ts"

const connectMillis = 10_000
const closeMillis = 2_000
const maximumConnections = 256
const maximumVersions = 1_024

/** Closes scopes without anybody waiting for it, but for the end of the service, and that for 2 s. */
const makeCloseAside = Effect.gen(function* () {
  const closing = new Set<Fiber.Fiber<void>>()
  yield* Effect.addFinalizer(() =>
    // The fibers run on their own, so that a server that does not answer can be left behind.
    Effect.timeoutOption(Effect.interruptible(Fiber.awaitAll(closing)), closeMillis)
  )
  return (scope: Scope.Closeable) =>
    Effect.map(Effect.forkDetach(Scope.close(scope, Exit.void)), (fiber) => {
      closing.add(fiber)
      fiber.addObserver(() => closing.delete(fiber))
    })
})

/** Connects to servers, in the version of the protocol that each of them spoke before first. */
const makeConnect = Effect.gen(function* () {
  const { guarded } = yield* Outbound
  const closeAside = yield* makeCloseAside
  const versions = new Map<string, string>()
  return Effect.fnUntraced(function* (
    server: McpServer
  ): Effect.fn.Return<Connection, McpFailure, Scope.Scope> {
    const place = `${server.connectorId} ${server.url}`
    // The client is not needed before the first connector is, and takes a while to load.
    const { connect } = yield* Effect.promise(() => import("./Client.ts"))
    const scope = yield* Effect.acquireRelease(Scope.make(), closeAside)
    const connection = yield* connect({ server, fetch: guarded, preferred: versions.get(place) }).pipe(
      Scope.provide(scope),
      Effect.timeoutOrElse({ duration: connectMillis, orElse: () => Effect.fail(late(connectMillis)) })
    )
    remember(versions, place, connection.version, maximumVersions)
    return connection
  })
})

/**
 * The connections to servers, each by its key: the server as JSON. They are made when they are needed, shared, and
 * closed 5 minutes after their last use, or the longest unused one when there are more than 256. The scope closes
 * what is open, within 2 s.
 */
export const make = Effect.gen(function* () {
  const connect = yield* makeConnect
  /** The keys of connections from the longest to the shortest unused, with those that are there. */
  const recent = new Map<string, Connection | undefined>()

  const open = Effect.fnUntraced(function* (
    key: string
  ): Effect.fn.Return<Connection, McpFailure, Scope.Scope> {
    const connection = yield* connect(JSON.parse(key))
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

  /** With a connection: only if it is still the one that has the key. */
  const forget = (key: string, connection?: Connection) =>
    Effect.suspend(() => {
      if (connection !== undefined && recent.get(key) !== connection) return Effect.void
      recent.delete(key)
      return RcMap.invalidate(connections, key)
    })

  const get = Effect.fnUntraced(function* (key: string) {
    for (const oldest of remember(recent, key, recent.get(key), maximumConnections)) yield* forget(oldest)
    return yield* RcMap.get(connections, key)
  })

  /** The connection that was made last, as long as there is one. */
  const peek = (key: string): Connection | undefined => recent.get(key)

  return { get, forget, peek }
})

/** Puts the key last; what is first beyond `limit` is taken out and told. */
const remember = <V>(map: Map<string, V>, key: string, value: V, limit: number): ReadonlyArray<string> => {
  map.delete(key)
  map.set(key, value)
  const over = Array.from(map.keys()).slice(0, Math.max(0, map.size - limit))
  for (const oldest of over) map.delete(oldest)
  return over
}
