import * as Effect from "effect/Effect"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import { type Absence, away, noRoom } from "../../../Schemas/ToolAbsence.ts"
import { ConnectorHealth } from "../../../Services/ConnectorHealth.ts"
import { monotonicMillis } from "../../../Services/CurrentTime.ts"
import { problemOf } from "../Mcp/Failure.ts"
import type { McpServer } from "../Mcp/Server.ts"
import type { McpClients, McpTool } from "../Mcp.ts"
import { distinct } from "./Definition.ts"
import * as Failed from "./Failed.ts"
import * as Target from "./Target.ts"

const atOnce = 8
/** How long one message waits for all connectors together. */
const patienceMillis = 15_000
const pauseMillis = 30_000
const maximumRemembered = 10_000

/** A connector with the tools that its server has now, or had when it was last reached. */
interface Listed {
  readonly connector: StoredConnector
  readonly server: McpServer | undefined
  readonly tools: ReadonlyArray<McpTool>
  readonly names: ReadonlyArray<string>
  /** Why its tools are not there, though it brings some. */
  readonly absence: Absence | undefined
}

/**
 * Asks connectors for their tools, all within 15 s. One that fails becomes ERROR and is not tried again for 30 s,
 * unless it is changed or named: who names one waits for it. One that works again becomes ACTIVE, if the plan has room
 * for it: of one in ERROR no list from before will do.
 */
export const make = Effect.fnUntraced(function* (mcp: McpClients) {
  const failed = yield* Failed.make
  const health = yield* ConnectorHealth
  const target = yield* Target.make

  /** When a connector as it was (its fingerprint) may be tried again. */
  const pauses = new Map<
    string,
    { readonly fingerprint: string; readonly until: number; readonly error: string }
  >()
  /** The tools of a connector when it was last reached: their names stay its own while it is away. */
  const known = new Map<string, ReadonlyArray<string>>()

  const without = (connector: StoredConnector, absence?: Absence): Listed => ({
    connector,
    server: undefined,
    tools: [],
    names: known.get(connector.id) ?? [],
    absence
  })

  const reach = Effect.fnUntraced(function* (connector: StoredConnector, areNamed: boolean) {
    const found = yield* target(connector)
    if (found.kind === "none") return { ...without(connector), names: [] }
    if (found.kind === "unusable") {
      yield* failed(connector, found.error)
      return without(connector, away(found.error.message))
    }
    const server = { connectorId: connector.id, ...found.server }
    const fingerprint = JSON.stringify(server)
    const pause = pauses.get(connector.id)
    const at = yield* monotonicMillis
    // One that is not in ERROR any more has worked since.
    const isPaused = connector.status === "ERROR" && pause?.fingerprint === fingerprint && at < pause.until
    if (!areNamed && isPaused) {
      return without(connector, away(pause.error))
    }
    const listed = yield* mcp.list(server, connector.status === "ERROR").pipe(
      Effect.catchTag("McpFailure", (failure) =>
        Effect.gen(function* () {
          const until = (yield* monotonicMillis) + pauseMillis
          bounded(pauses).set(connector.id, { fingerprint, until, error: failure.error })
          yield* failed(connector, problemOf(failure))
          return failure.error
        })
      )
    )
    if (typeof listed === "string") return without(connector, away(listed))
    pauses.delete(connector.id)
    const described = distinct(listed.tools)
    const names = described.map(({ name }) => name)
    bounded(known).set(connector.id, names)
    const isActive =
      listed.isNew && (yield* health.report(connector, { error: null, server: mcp.about(server) }))
    if (isActive || connector.status === "ACTIVE") {
      return { connector, server, tools: described, names, absence: undefined }
    }
    return { ...without(connector, noRoom), names }
  })

  /** What is not there by then is left out this time; it goes on connecting for the next. */
  const reachBefore = (deadline: number, areNamed: boolean) => (connector: StoredConnector) =>
    Effect.flatMap(monotonicMillis, (at) =>
      Effect.timeoutOrElse(reach(connector, areNamed), {
        duration: Math.max(0, deadline - at),
        orElse: () => Effect.succeed(without(connector, away("its server did not answer in time")))
      })
    )

  return Effect.fnUntraced(function* (connectors: ReadonlyArray<StoredConnector>, areNamed: boolean) {
    const deadline = (yield* monotonicMillis) + patienceMillis
    return yield* Effect.forEach(connectors, reachBefore(deadline, areNamed), { concurrency: atOnce })
  })
})

export type Reach = Effect.Success<ReturnType<typeof make>>

/** Forgets the oldest of a map that has grown too large. */
const bounded = <K, V>(map: Map<K, V>): Map<K, V> => {
  for (const oldest of map.keys()) {
    if (map.size < maximumRemembered) break
    map.delete(oldest)
  }
  return map
}
