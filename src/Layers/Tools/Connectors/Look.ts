import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import type { ConnectorTool } from "../../../Schemas/ConnectorHealth.ts"
import { inScope } from "../../../Schemas/ConnectorServer.ts"
import { Unavailable } from "../../../Schemas/Errors.ts"
import type { WorkspaceId } from "../../../Schemas/Ids.ts"
import { limited, type RatePolicy } from "../../../Schemas/Rate.ts"
import { mayMeet, prefixOf, toolNames } from "../../../Schemas/ToolName.ts"
import { newBuckets } from "../../../Services/Buckets.ts"
import { ConnectorHealth } from "../../../Services/ConnectorHealth.ts"
import { ConnectorRepo } from "../../../Services/ConnectorRepo.ts"
import { monotonicMillis } from "../../../Services/CurrentTime.ts"
import { problemOf } from "../Mcp/Failure.ts"
import type { McpClients, McpTool } from "../Mcp.ts"
import { definitionOf, distinct, isDestructive } from "./Definition.ts"
import * as Failed from "./Failed.ts"
import type { Reach } from "./Reach.ts"
import * as Target from "./Target.ts"

const atOnce = 16
const atOnceOfWorkspace = 2
const waitMillis = 30_000
/** How often the server of one is asked because somebody wants to know: so often at once, and then every 5 s. */
const checks: RatePolicy = { name: "check", perMinute: 12 }

/** Shows what one connector brings and whether it works, to people who ask: also one that is switched off. */
export const make = Effect.fnUntraced(function* (mcp: McpClients, reach: Reach) {
  const list = yield* makeList(mcp)
  const named = yield* makeNamed(reach)
  const takePlace = yield* makePlaces

  const tools = Effect.fnUntraced(function* (connector: StoredConnector) {
    const listed = distinct(yield* list(connector, false))
    const names = listed.length === 0 ? [] : yield* named(connector, listed)
    return listed.map((tool, index) => shownTool(tool, names[index] ?? tool.name))
  })

  const buckets = newBuckets(checks)
  const requireRate = Effect.fnUntraced(function* ({ id }: StoredConnector) {
    const { isTaken, rate } = buckets.take(id, yield* monotonicMillis)
    if (!isTaken) return yield* limited(rate)
  })
  const check = (connector: StoredConnector) => Effect.asVoid(list(connector, true))

  return {
    // Of one in ERROR no list is known that would do.
    tools: yield* makeShared(tools, takePlace, (connector) =>
      connector.status === "ERROR" ? requireRate(connector) : Effect.void
    ),
    check: yield* makeShared(check, takePlace, requireRate)
  }
})

/**
 * Places for looks: 16 in all, of which one workspace has 2, since a server that does not answer holds one for as long
 * as it may. Who has waited 30 s for one is sent away; how long a look takes then is limited by what it asks.
 */
const makePlaces = Effect.gen(function* () {
  const all = yield* Semaphore.make(atOnce)
  const shares = yield* RcMap.make({ lookup: (_: WorkspaceId) => Semaphore.make(atOnceOfWorkspace) })

  return Effect.fnUntraced(
    function* (workspaceId: WorkspaceId) {
      // That of the workspace first: who waits for it takes no place from others.
      yield* Semaphore.takeScoped(yield* RcMap.get(shares, workspaceId), 1)
      yield* Semaphore.takeScoped(all, 1)
    },
    Effect.timeoutOrElse({
      duration: waitMillis,
      orElse: () => Effect.fail(new Unavailable({ error: "too many connectors are looked at" }))
    })
  )
})

/**
 * One at a time of each connector, as it is: its answer is for all who ask meanwhile, and it goes on when they leave.
 * Before each `begin` is asked.
 */
const makeShared = Effect.fnUntraced(function* <A, E>(
  look: (connector: StoredConnector) => Effect.Effect<A, Unavailable>,
  takePlace: (workspaceId: WorkspaceId) => Effect.Effect<void, Unavailable, Scope.Scope>,
  begin: (connector: StoredConnector) => Effect.Effect<void, E>
) {
  const looks = yield* FiberMap.make<string, A, Unavailable>()
  const run = yield* FiberMap.runtime(looks)()
  const bounded = (connector: StoredConnector) =>
    Effect.scoped(Effect.andThen(takePlace(connector.workspaceId), look(connector)))
  return (connector: StoredConnector): Effect.Effect<A, E | Unavailable> =>
    Effect.suspend(() => {
      const key = JSON.stringify([connector.id, connector.updatedAt])
      const started = Effect.suspend(() =>
        Fiber.join(Option.getOrElse(FiberMap.getUnsafe(looks, key), () => run(key, bounded(connector))))
      )
      return FiberMap.hasUnsafe(looks, key) ? started : Effect.andThen(begin(connector), started)
    })
})

/** What a server lists; nothing, and why not is reported, if it can't be asked. */
const makeList = Effect.fnUntraced(function* (mcp: McpClients) {
  const failed = yield* Failed.make
  const health = yield* ConnectorHealth
  const target = yield* Target.make

  return Effect.fnUntraced(function* (
    connector: StoredConnector,
    isAsked: boolean
  ): Effect.fn.Return<ReadonlyArray<McpTool>> {
    const found = yield* target(connector)
    if (found.kind === "none") return []
    if (found.kind === "unusable") return yield* Effect.as(failed(connector, found.error, { isAsked }), [])
    const server = { connectorId: connector.id, ...found.server }
    return yield* mcp.list(server, isAsked || connector.status === "ERROR").pipe(
      Effect.tap(({ isNew }) =>
        isNew
          ? health.report(connector, { error: null, server: mcp.about(server) }, { isAsked })
          : Effect.void
      ),
      Effect.map(({ tools }) => tools),
      Effect.catchTag("McpFailure", (failure) =>
        Effect.as(failed(connector, problemOf(failure), { isAsked }), [])
      )
    )
  })
})

/** The names that tools have in a run of the connector's own project, where others may be called alike. */
const makeNamed = Effect.fnUntraced(function* (reach: Reach) {
  const repo = yield* ConnectorRepo

  return Effect.fnUntraced(function* (connector: StoredConnector, tools: ReadonlyArray<McpTool>) {
    const { id, projectId, workspaceId } = connector
    const all = yield* repo.all(workspaceId)
    const others = all.filter(
      (other) =>
        other.id !== id &&
        inScope(other, { projectId, connectorIds: null, policy: null }) &&
        mayMeet(prefixOf(other), prefixOf(connector))
    )
    const reached = new Map((yield* reach(others, false)).map((other) => [other.connector.id, other.names]))
    reached.set(
      id,
      tools.map(({ name }) => name)
    )
    const ordered = all.flatMap((one) =>
      (reached.get(one.id) ?? []).map((tool) => ({ connectorId: one.id, prefix: prefixOf(one), tool }))
    )
    return toolNames(ordered).filter((_, index) => ordered[index]?.connectorId === id)
  })
})

const shownTool = (tool: McpTool, name: string): ConnectorTool => {
  const { description, readOnly } = definitionOf(tool, name)
  return {
    name,
    originalName: tool.name,
    description,
    readOnly,
    destructive: isDestructive(tool),
    inputSchema: tool.inputSchema as Schema.JsonObject
  }
}
