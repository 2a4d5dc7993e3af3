import { existsSync } from "node:fs"
import { connect } from "node:net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { OperatorApi } from "../../Api/Operator.ts"
import * as Settings from "../Settings.ts"
import { socketPath } from "./Socket.ts"

const makeClient = HttpApiClient.make(OperatorApi, {
  transformClient: HttpClient.mapRequest(HttpClientRequest.prependUrl("http://localhost"))
})

type Client = Effect.Success<typeof makeClient>

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
 * Works on the database of `DATABASE_URL` here; on the embedded one through the server that has it open,
 * or, where none runs, by opening it here.
 */
export const reach = Effect.fnUntraced(function* <A, E1, R1, E2, R2>(ways: {
  readonly here: Effect.Effect<A, E1, R1>
  readonly throughServer: (client: Client) => Effect.Effect<A, E2, R2>
}) {
  const { dataDir, url } = yield* Settings.database
  const path = socketPath(dataDir)
  if (Option.isSome(url) || !existsSync(path)) return yield* ways.here
  const answer = yield* Effect.result(
    Effect.flatMap(makeClient, ways.throughServer).pipe(
      Effect.provide(NodeHttpClient.layerUndiciOptions({ connect: { socketPath: path }, headersTimeout: 0 }))
    )
  )
  // The socket of a server that is gone stays behind; the lock of the folder decides.
  const serverIsGone =
    Result.isFailure(answer) &&
    Predicate.isTagged(answer.failure, "HttpClientError") &&
    Predicate.hasProperty(answer.failure, "reason") &&
    Predicate.isTagged(answer.failure.reason, "TransportError")
  return serverIsGone ? yield* ways.here : yield* Effect.fromResult(answer)
})
