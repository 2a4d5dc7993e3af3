import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as ByteSize from "effect/ByteSize"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { urlHost } from "../Schemas/UrlHost.ts"
import { DatabaseHealth } from "../Services/DatabaseHealth.ts"
import { Engine } from "../Services/Engine.ts"
import { Lifecycle } from "../Services/Lifecycle.ts"
import { Settings } from "../Services/Settings.ts"
import * as Authorization from "./Auth/Authorization.ts"
import * as Http from "./Http.ts"
import * as OperatorSocket from "./Operator/Socket.ts"
import { writeStdout } from "./Output.ts"
import { welcome } from "./Server/FirstStart.ts"
import { makeServer, type NodeServer } from "./Server/NodeServer.ts"
import { address, database } from "./Settings.ts"

/** What is left of the last answers may still be written for so long when the drain is over. */
const flushMillis = 1_000

class Connections extends Context.Service<Connections, NodeServer>()("agentd/Layers/Server/Connections") {}

/** Listens when everything else is ready: the database is migrated before the first connection. */
const layerListener = Layer.unwrap(
  Effect.gen(function* () {
    yield* DatabaseHealth
    const { host, port } = yield* address
    const { drainMillis } = yield* Settings
    const node = makeServer()
    const gracefulShutdownTimeout = drainMillis + flushMillis
    return Layer.merge(
      NodeHttpServer.layer(() => node.server, { host, port, gracefulShutdownTimeout }),
      Layer.succeed(Connections, node)
    )
  })
)

const layerRoutes = HttpRouter.serve(Http.layer, { disableListenLog: true, disableLogger: true }).pipe(
  Layer.provide([Authorization.layer, Authorization.layerOwnPages]),
  Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.mebibytes(1)))
)

/**
 * Built after the routes and so closed before them: not ready at once, streams end in order while the
 * server still runs, then connections that nobody uses are ended, and in the end all of them.
 */
const layerDrain = Layer.effectDiscard(
  Effect.gen(function* () {
    const { closeQuiet, server } = yield* Connections
    const lifecycle = yield* Lifecycle
    const engine = yield* Engine
    const { drainMillis } = yield* Settings
    yield* Effect.addFinalizer(
      Effect.fnUntraced(function* () {
        const deadline = performance.now() + drainMillis
        yield* Effect.logInfo("stopping")
        yield* lifecycle.startDraining
        yield* Effect.all([engine.drain("task", drainMillis), engine.drain("turn", drainMillis)], {
          concurrency: 2
        })
        yield* lifecycle.endDraining
        closeQuiet()
        const left = Math.max(deadline - performance.now(), flushMillis)
        setTimeout(() => server.closeAllConnections(), left).unref()
      })
    )
  })
)

const layerAnnounced = Layer.effectDiscard(
  Effect.gen(function* () {
    const server = yield* HttpServer.HttpServer
    const { host } = yield* address
    const { dataDir, url } = yield* database
    if (server.address._tag === "UnixPathAddress") return
    const baseUrl = `http://${urlHost(host)}:${server.address.port}`
    if (Option.isNone(url)) yield* welcome(dataDir, baseUrl)
    yield* writeStdout(`agentd listening on ${baseUrl}`)
  })
)

const layerOperatorSocket = Layer.unwrap(
  Effect.map(database, ({ dataDir, url }) =>
    Option.isNone(url) ? OperatorSocket.layer(dataDir) : Layer.empty
  )
)

/** The HTTP service, from the listening socket to the line that says that it can serve. */
export const layer = Layer.merge(layerDrain, layerAnnounced).pipe(
  Layer.provideMerge(Layer.merge(layerRoutes, layerOperatorSocket)),
  Layer.provideMerge(layerListener)
)
