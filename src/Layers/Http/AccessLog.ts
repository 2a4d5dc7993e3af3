import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as LogLevel from "effect/LogLevel"
import { maskTokens } from "../../Schemas/Token.ts"
import type { RequestFacts } from "../../Services/RequestFacts.ts"

const longestPath = 200

/** Without the query, which may hold anything, and without a token that somebody took for a path, however written. */
export const pathOf = (url: string): string => {
  const path = url.startsWith("/") ? url.replace(/[?;#].*$/su, "") : (URL.parse(url)?.pathname ?? "")
  const read = path.replace(/%[0-7][0-9a-f]/giu, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16))
  )
  const masked = maskTokens(read)
  return (masked === read ? path : masked).slice(0, longestPath)
}

/** A workspace is told as the caller named it, who may have taken a token for one. */
const told = ({ userId, workspaceId }: RequestFacts) => ({
  ...(userId !== undefined && { userId }),
  ...(workspaceId !== undefined && { workspaceId: maskTokens(workspaceId) })
})

/**
 * One line per request at `debug`, and where a right was refused another at `info` (CONTRACT.md section 13). Costs
 * nothing where neither is written.
 */
export const log = (
  request: HttpServerRequest,
  answer: { readonly status: number; readonly code: string | undefined; readonly millis: number },
  facts: RequestFacts
): Effect.Effect<void> => {
  const { code, millis, status } = answer
  const about = () => ({ method: request.method, path: pathOf(request.url), status, ...told(facts) })
  const access = whereEnabled("Debug", () =>
    Effect.annotateLogs(Effect.logDebug("a request was answered"), {
      ...about(),
      durationMs: Math.round(millis),
      ...(facts.waitedMillis !== undefined && { waitedMs: Math.round(facts.waitedMillis) })
    })
  )
  if (status !== 401 && status !== 403) return access
  const refusal = whereEnabled("Info", () =>
    Effect.annotateLogs(Effect.logInfo("a request was refused"), {
      ...about(),
      code,
      ...(facts.address !== undefined && { address: facts.address })
    })
  )
  return Effect.andThen(access, refusal)
}

const whereEnabled = (level: LogLevel.LogLevel, write: () => Effect.Effect<void>) =>
  Effect.flatMap(LogLevel.isEnabled(level), (isEnabled) => (isEnabled ? write() : Effect.void))
