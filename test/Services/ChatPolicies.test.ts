import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { Agents } from "../../src/Services/Agents.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { Policies } from "../../src/Services/Policies.ts"
import { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { collect } from "../support/ChatEvents.ts"
import { listedTool, startScripted } from "../support/Mcp.ts"
import { makeTapped, protocols } from "../support/Models.ts"
import { layerOver, makeTenant } from "../support/Service.ts"

const layer = layerOver(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} })), {
  allowPrivateAddresses: true
})

describe("a denied tool", () => {
  for (const provider of protocols) {
    it.effect(`reaches neither a model of ${provider} nor its server`, () =>
      Effect.gen(function* () {
        const tapped = yield* makeTapped
        tapped.mock.on({}, ({ messages }) =>
          messages.at(-1)?.role === "tool"
            ? { content: "Done." }
            : { toolCalls: [{ name: "docs__erase", arguments: "{}" }] }
        )
        const called: Array<unknown> = []
        const server = yield* startScripted({
          tools: [listedTool("erase"), listedTool("look", { annotations: { readOnlyHint: true } })],
          answer: ({ method, params }) => {
            if (method === "tools/call") called.push(params)
            return undefined
          }
        })
        const { user, workspaceId } = yield* makeTenant()
        yield* makeConnector(workspaceId, { providerName: "docs", metadata: { url: server.url } })
        const key = { name: "k", provider, model: "m", apiKey: "key", baseUrl: tapped.url }
        const { id: providerKeyId } = yield* (yield* ProviderKeys).create(user, { workspaceId, ...key })
        const agent = yield* (yield* Agents).create(user, { workspaceId, name: "a", providerKeyId })
        const deny = { tools: [{ match: "*erase", rule: "deny" as const }] }
        yield* (yield* Policies).setOfAgent(user, agent.id, deny)
        const message = {
          workspaceId,
          agentId: agent.id,
          content: "Go on.",
          autonomyLevel: "autonomous" as const
        }
        const events = yield* collect((yield* Chat).send(user, message))
        assert.strictEqual(events.at(-1)?.event, "done", JSON.stringify(events.at(-1)))
        assert.lengthOf(tapped.received, 2)
        // What it makes up itself it is shown again, and is told that there is no such tool.
        assert.notInclude(tapped.received[0]?.raw ?? "", "erase")
        assert.include(tapped.received[0]?.raw ?? "", "docs__look")
        assert.include(tapped.received[1]?.raw ?? "", "There is no tool named docs__erase.")
        assert.deepStrictEqual(called, [])
      }).pipe(Effect.provide(layer))
    )
  }
})
