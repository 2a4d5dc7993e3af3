import type * as Schema from "effect/Schema"
import { version } from "../../../../Schemas/Version.ts"
import type { Exchange } from "./Exchange.ts"
import type { ToolAnswer } from "./Results.ts"

export const serverInfo = { name: "agentd", title: "agentd", version }

/** A result as the version of a client has them: since 2026-07-28 each says of which type it is, and who answers. */
export const sent = (
  { isModern }: Pick<Exchange, "isModern">,
  result: ToolAnswer | Schema.JsonObject,
  resultType = "complete"
): Schema.JsonObject => {
  const { _meta, ...rest } = result as Schema.JsonObject
  if (!isModern) return result as Schema.JsonObject
  return {
    resultType,
    ...rest,
    _meta: { ...(_meta as Schema.JsonObject | undefined), "io.modelcontextprotocol/serverInfo": serverInfo }
  }
}
