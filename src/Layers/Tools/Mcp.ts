import type * as McpSchema from "effect/ai/McpSchema"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import { type ServerInfo, unknownServer } from "../../Schemas/ConnectorHealth.ts"
import { ToolError } from "../../Services/ToolSource.ts"
import type { Connection, ToolList } from "./Mcp/Client.ts"
import { late, McpFailure, unsent } from "./Mcp/Failure.ts"
import * as Pool from "./Mcp/Pool.ts"
import { toResult, toText } from "./Mcp/Result.ts"
import { scrubOf } from "./Mcp/Scrub.ts"
import type { McpServer } from "./Mcp/Server.ts"

const listMillis = 10_000

/** A tool as its server describes it. */
export type McpTool = McpSchema.Tool

export interface McpClients {
  /**
   * The tools of a server, there within 10 s or not at all: at most a minute old, or asked for after this (`isFresh`).
   * A list that is not new says nothing of how the server is now.
   */
  readonly list: (server: McpServer, isFresh: boolean) => Effect.Effect<ToolList, McpFailure>
  /** What the server said of itself when it was last connected to; nothing is asked. */
  readonly about: (server: McpServer) => ServerInfo
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
  const pool = yield* Pool.make

  const use = <A>(server: McpServer, work: (connection: Connection) => Effect.Effect<A, McpFailure>) => {
    const key = JSON.stringify(server)
    const once = Effect.scoped(
      Effect.flatMap(Effect.mapError(pool.get(key), unsent), (connection) =>
        Effect.tapError(work(connection), ({ reason }) =>
          reason === "answer" ? Effect.void : pool.forget(key, connection)
        )
      )
    )
    return promptly(Effect.catchIf(once, isSessionLost, () => once)).pipe(
      // A bug must not take the whole chat along. What is thrown may show a header: only its name is told.
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.annotateLogs(Effect.logError("the client of a connector failed"), {
            connectorId: server.connectorId,
            defect: defect instanceof Error ? defect.name : typeof defect
          }),
          Effect.fail(
            new McpFailure({
              reason: "answer",
              error: "the answer of the server can't be read",
              isUnsent: false
            })
          )
        )
      )
    )
  }

  const list = (server: McpServer, isFresh: boolean) =>
    Effect.timeoutOrElse(
      use(server, (connection) => connection.tools(isFresh)),
      { duration: listMillis, orElse: () => Effect.fail(late(listMillis)) }
    )

  return {
    list,
    about: (server) => pool.peek(JSON.stringify(server))?.info ?? unknownServer,
    call: Effect.fnUntraced(function* (server, tool, argument) {
      const result = yield* use(server, (connection) => connection.call(tool, argument))
      const scrub = scrubOf(server)
      if (result.isError !== true) return toResult(result, scrub)
      const said = toText(result, scrub)
      return yield* new ToolError({ error: said === "" ? "the tool failed without saying why" : said })
    })
  } satisfies McpClients
})

const isSessionLost = ({ reason }: McpFailure): boolean => reason === "session"

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
