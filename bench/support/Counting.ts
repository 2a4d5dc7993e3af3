import { sleep } from "../../test/support/Durability.ts"
import { serveTools } from "../../test/support/ToolServer.ts"
import { clientOf } from "./Processes.ts"

/** One side effect: a call that arrived, by the token that its prompt gave it. */
export interface Attempt {
  readonly token: string
  /** What the client says the call is known by. */
  readonly key: string
  /** The process that sent it; undefined where that was gone already. */
  readonly pid: number | undefined
  readonly from: number
  /** When its answer was sent, or its client was gone. */
  to: number | undefined
}

const inputSchema = {
  type: "object",
  properties: { token: { type: "string" }, millis: { type: "integer" } },
  required: ["token", "millis"]
}
const tools = [
  { name: "look", description: "looks", annotations: { readOnlyHint: true }, inputSchema },
  {
    name: "act",
    description: "acts",
    annotations: { readOnlyHint: false, destructiveHint: true },
    inputSchema
  }
]

/** What a call with this token answers, however often it is made. */
export const resultOf = (token: string) => `did ${token}`

/**
 * An MCP server with the tools `look` (read-only) and `act`, which take as long as they are told, and count.
 */
export const startCounting = async () => {
  const attempts = new Map<string, Array<Attempt>>()
  const server = await serveTools({
    tools,
    oneEach: true,
    call: async ({ params, request, response }) => {
      const { millis, token }: { millis: number; token: string } = params.arguments
      const attempt: Attempt = {
        token,
        key: params._meta?.["agentd/idempotencyKey"] ?? "none",
        pid: clientOf(request.socket),
        from: Date.now(),
        to: undefined
      }
      attempts.set(token, [...(attempts.get(token) ?? []), attempt])
      response.once("close", () => {
        attempt.to = Date.now()
      })
      await sleep(millis)
      return resultOf(token)
    }
  })
  return {
    ...server,
    attempts: attempts as ReadonlyMap<string, ReadonlyArray<Attempt>>,
    /** How many calls of a process are under way that were made at least so often before. */
    inFlight: (pid: number, before = 0) =>
      Array.from(attempts.values()).filter((made) => {
        const last = made.at(-1)
        return last?.pid === pid && last.to === undefined && made.length > before
      }).length
  }
}

export type Counting = Awaited<ReturnType<typeof startCounting>>
