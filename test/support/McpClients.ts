import * as Effect from "effect/Effect"
import * as Mcp from "../../src/Layers/Tools/Mcp.ts"
import { Outbound } from "../../src/Services/Outbound.ts"
import { postBy } from "./Posts.ts"

/** Clients that may connect to any address; the scope closes them. */
export const makeClients = () =>
  Mcp.make.pipe(
    Effect.provideService(Outbound, { guarded: fetch, post: postBy(fetch), trusted: fetch }),
    Effect.map((clients) => ({
      ...clients,
      tools: (server: ReturnType<typeof serverAt>) =>
        Effect.map(clients.list(server, false), ({ tools }) => tools)
    }))
  )

export const serverAt = (url: string, headers: Record<string, string> = {}) => ({
  connectorId: "conn_1",
  url,
  headers
})

/** What a test needs to call the tools of one server by name. */
export const using = Effect.fnUntraced(function* (server: ReturnType<typeof serverAt>) {
  const clients = yield* makeClients()
  const tools = yield* clients.tools(server)
  const named = (name: string) => {
    const tool = tools.find((candidate) => candidate.name === name)
    return tool === undefined ? Effect.die(`no tool ${name}`) : Effect.succeed(tool)
  }
  const call = (name: string, argument: Record<string, string | number> = {}) =>
    Effect.flatMap(named(name), (tool) => clients.call(server, tool, argument))
  return { call, clients, tools }
})

export const failure = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.flip(effect)
