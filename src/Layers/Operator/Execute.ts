import { existsSync } from "node:fs"
import { connect } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { OperatorApi } from "../../Api/Operator.ts"
import type { AccountCommand } from "../../Schemas/Account.ts"
import { Accounts } from "../../Services/Accounts.ts"
import { Ids } from "../../Services/Ids.ts"
import * as Auth from "../Auth.ts"
import * as Database from "../Database.ts"
import * as Repo from "../Repo.ts"
import * as Settings from "../Settings.ts"
import { socketPath } from "./Socket.ts"

const answerTimeout = "30 seconds"

/** Carries a command out on the database itself. */
const layerLocal = Accounts.layer.pipe(
  Layer.provide(Auth.layer),
  Layer.provide(Layer.merge(Repo.layerPostgres, Ids.layer)),
  Layer.provide(Database.layer),
  Layer.provide(Settings.layer)
)

const executeLocally = (command: AccountCommand) =>
  Effect.provide(
    Effect.flatMap(Accounts, (accounts) => accounts.execute(command)),
    layerLocal
  )

const executeThrough = (path: string, command: AccountCommand) =>
  Effect.gen(function* () {
    const client = yield* HttpApiClient.make(OperatorApi, {
      transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl("http://localhost"))
    })
    return yield* client.accounts.execute({ payload: command })
  }).pipe(
    Effect.provide(NodeHttpClient.layerUndiciOptions({ connect: { socketPath: path } })),
    Effect.timeout(answerTimeout)
  )

/** Whether a server has the embedded database open: then it has brought it up to date as well. */
export const serverRuns = Effect.gen(function* () {
  const { dataDir, url } = yield* Settings.database
  if (Option.isSome(url)) return false
  return yield* Effect.callback<boolean>((resume) => {
    const socket = connect(socketPath(dataDir))
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => void socket.destroy())
  })
})

/**
 * Carries a command out: on the database of `DATABASE_URL`; on the embedded one through the server that
 * has it open, or, where none runs, by opening it here.
 */
export const execute = Effect.fn("Operator.execute")(function* (command: AccountCommand) {
  const { dataDir, url } = yield* Settings.database
  const path = socketPath(dataDir)
  if (Option.isSome(url) || !existsSync(path)) return yield* executeLocally(command)
  const answer = yield* Effect.result(executeThrough(path, command))
  // The socket of a server that is gone stays behind; the lock of the folder decides.
  const serverIsGone =
    Result.isFailure(answer) &&
    answer.failure._tag === "HttpClientError" &&
    answer.failure.reason._tag === "TransportError"
  return serverIsGone ? yield* executeLocally(command) : yield* Effect.fromResult(answer)
})
