import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Agent, type StoredAgent, toAgent } from "../../../Schemas/Agent.ts"
import { AgentRepo } from "../../../Services/AgentRepo.ts"
import { unlessGone } from "./Named.ts"
import { inOrder } from "./Order.ts"
import { setPolicyIn } from "./Policies.ts"
import { unlessFullIn } from "./Quotas.ts"
import * as Slices from "./Slices.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  AgentRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { agents, conversations, cronJobs, providerKeys, runs } = tables
    const withKey = (agent: Omit<StoredAgent, "providerKey">): StoredAgent => {
      const key = agent.providerKeyId === null ? undefined : providerKeys.get(agent.providerKeyId)
      return {
        ...agent,
        providerKey: key ? { id: key.id, name: key.name, provider: key.provider, model: key.model } : null
      }
    }
    return guard(
      AgentRepo.of({
        insert: (agent, most) =>
          Effect.flatten(
            unlessGone(tables, agent, () =>
              unlessFullIn(tables, "agents", agent.workspaceId, most, () => {
                const stored = { ...agent, policy: null }
                agents.set(agent.id, stored)
                return toAgent(withKey(stored))
              })
            )
          ),
        find: (id) => Effect.sync(() => Option.map(Option.fromNullishOr(agents.get(id)), withKey)),
        named: (workspaceId, name) =>
          Effect.sync(() =>
            Array.from(agents.values())
              .filter((agent) => agent.workspaceId === workspaceId && agent.name === name)
              .sort(inOrder("createdAt"))
              .sort((a, b) => Number(b.isActive) - Number(a.isActive))
              .slice(0, 2)
              .map(withKey)
          ),
        ...Slices.makePages(agents, (agent) => toAgent(withKey(agent))),
        remove: (id) =>
          Effect.sync(() => {
            for (const table of [conversations, runs, cronJobs] as ReadonlyArray<
              Map<string, { readonly agentId: string | null }>
            >) {
              for (const [key, row] of table) {
                if (row.agentId === id) table.set(key, { ...row, agentId: null })
              }
            }
            return agents.delete(id)
          }),
        update: (id, patch, at) =>
          unlessGone(tables, agents.has(id) ? patch : {}, () => {
            const agent = agents.get(id)
            if (agent === undefined) return Option.none<Agent>()
            const updated = { ...agent, ...patch, updatedAt: at }
            agents.set(id, updated)
            return Option.some(toAgent(withKey(updated)))
          }),
        setPolicy: setPolicyIn(agents)
      })
    )
  })
)
