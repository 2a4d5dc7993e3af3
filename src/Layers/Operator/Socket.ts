import { chmodSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { join, relative } from "node:path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { OperatorApi } from "../../Api/Operator.ts"
import { Unavailable } from "../../Schemas/Errors.ts"
import { reasonOf } from "../../Schemas/Reason.ts"
import { Accounts } from "../../Services/Accounts.ts"
import { DatabaseReport } from "../../Services/DatabaseReport.ts"
import { Secrets } from "../../Services/Secrets.ts"
import { Transfer } from "../../Services/Transfer.ts"
import { exportTo } from "./Export.ts"

/** The longest path that every system takes for a socket. */
const longestPath = 100

/** The shorter of the absolute and the relative path of the socket in the data folder. */
export const socketPath = (dataDir: string): string => {
  const path = join(dataDir, "agentd.sock")
  const fromHere = relative(process.cwd(), path)
  return fromHere.length < path.length ? fromHere : path
}

const accountHandlers = HttpApiBuilder.group(
  OperatorApi,
  "accounts",
  Effect.fn(function* (group) {
    const accounts = yield* Accounts
    return group.handle("execute", ({ payload }) => accounts.execute(payload))
  })
)

const secretsHandlers = HttpApiBuilder.group(
  OperatorApi,
  "secrets",
  Effect.fn(function* (group) {
    const secrets = yield* Secrets
    return group.handle("reseal", ({ payload }) => secrets.reseal(payload.newKey))
  })
)

const doctorHandlers = HttpApiBuilder.group(
  OperatorApi,
  "doctor",
  Effect.fn(function* (group) {
    const report = yield* DatabaseReport
    const secrets = yield* Secrets
    return group.handle("look", () =>
      Effect.all({ database: report.facts, secrets: secrets.check }).pipe(
        Effect.catchTag("DatabaseSilent", ({ cause }) => new Unavailable({ error: reasonOf(cause) }))
      )
    )
  })
)

const transferHandlers = HttpApiBuilder.group(
  OperatorApi,
  "transfer",
  Effect.fn(function* (group) {
    const transfer = yield* Transfer
    return group.handle("export", ({ payload }) =>
      exportTo(payload.path).pipe(
        Effect.provideService(Transfer, transfer),
        Effect.map((rows) => ({ rows }))
      )
    )
  })
)

/**
 * Takes commands while the server runs. The folder is the server's own (its lock is held), so that a
 * socket that is there already was left by a process that is gone.
 */
export const layer = (dataDir: string) => {
  const path = socketPath(dataDir)
  if (path.length > longestPath) {
    return Layer.effectDiscard(
      Effect.annotateLogs(
        Effect.logWarning("the path is too long for a socket: stop the server to use the command line"),
        { path }
      )
    )
  }
  const listening = () => {
    rmSync(path, { force: true })
    return createServer().once("listening", () => chmodSync(path, 0o600))
  }
  return HttpRouter.serve(
    HttpApiBuilder.layer(OperatorApi).pipe(
      Layer.provide([accountHandlers, secretsHandlers, doctorHandlers, transferHandlers])
    ),
    {
      disableListenLog: true,
      disableLogger: true
    }
  ).pipe(
    Layer.provide(NodeHttpServer.layer(listening, { path, disablePreemptiveShutdown: true })),
    Layer.fresh
  )
}
