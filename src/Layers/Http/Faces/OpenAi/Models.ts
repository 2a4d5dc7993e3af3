import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Agent } from "../../../../Schemas/Agent.ts"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import type { AgentId } from "../../../../Schemas/Ids.ts"
import { defaultModel, type Model, modelOf, modelsOf } from "../../../../Schemas/OpenAi/Model.ts"
import { mostPageRows } from "../../../../Schemas/Page.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Agents } from "../../../../Services/Agents.ts"
import { defaultAgent, Workplace } from "../../../../Services/Workplace.ts"

interface Page {
  readonly limit?: number | undefined
  readonly after?: AgentId | undefined
}

/** The agents as models (CONTRACT.md section 14). */
export const make = Effect.gen(function* () {
  const agents = yield* Agents
  const workplace = yield* Workplace

  /** Up to `limit` of a workspace, and whether there are more. */
  const some = Effect.fnUntraced(function* (caller: Caller, filter: Parameters<typeof agents.list>[1]) {
    const { first, next, rest } = yield* agents.list(caller, filter)
    const more = rest === null ? [] : yield* Stream.runCollect(rest)
    return { found: [...first, ...more.flat()], hasMore: next !== null }
  })

  const list = Effect.fnUntraced(function* (caller: Caller, header: string | undefined, page: Page) {
    const among = yield* workplace.among(caller, header)
    if (page.after !== undefined && among.length > 1) {
      return yield* new InvalidInput({ error: "after: is of one workspace; X-Workspace-Id must name it" })
    }
    const prefixOf = (workspaceId: string) => (among.length > 1 ? `${workspaceId}/` : "")
    const data: Array<Model> =
      page.after === undefined ? among.map((id) => defaultModel(`${prefixOf(id)}${defaultAgent}`, id)) : []
    let left = page.limit ?? mostPageRows
    let hasMore = false
    let last: string | null = null
    for (const workspaceId of among) {
      if (left === 0) {
        hasMore = true
        break
      }
      const { found, hasMore: isCut } = yield* some(caller, { workspaceId, limit: left, after: page.after })
      left -= found.length
      hasMore ||= isCut
      last = found.at(-1)?.id ?? last
      data.push(...named(found, prefixOf(workspaceId)))
    }
    return HttpServerResponse.jsonUnsafe({ object: "list", data, has_more: hasMore, last_id: last })
  })

  return {
    list,
    get: Effect.fnUntraced(function* (caller: Caller, model: string, header: string | undefined) {
      const { agent, workspaceId } = yield* workplace.resolve(caller, { header, named: model })
      return HttpServerResponse.jsonUnsafe(
        agent === null ? defaultModel(model, workspaceId) : modelOf(model, agent)
      )
    })
  }
})

/** Those that get work, by all that they may be named by. */
const named = (found: ReadonlyArray<Agent>, prefix: string): ReadonlyArray<Model> => {
  const active = found.filter(({ isActive }) => isActive)
  const counts = new Map<string, number>()
  for (const { name } of active) counts.set(name, (counts.get(name) ?? 0) + 1)
  return active.flatMap((agent) => modelsOf(agent, prefix, (name) => (counts.get(name) ?? 0) > 1))
}
