import { sleep, statusCounts } from "../../test/support/Durability.ts"
import { postUntilAnswered } from "../../test/support/Repeating.ts"
import { listen } from "../../test/support/ToolServer.ts"
import { until } from "../../test/support/Until.ts"
import type { Seeded } from "./Seed.ts"
import type { WebhookSite } from "./WebhookSite.ts"

const kinds = ["completed", "approved", "rejected", "cancelled", "failed", "turn"] as const
type Kind = (typeof kinds)[number]
const overMillis = 240_000

/** A task or a message of each kind in turn, and people who decide, all against nodes that may die at any time. */
export const startWork = async (site: WebhookSite, random: Seeded, count: number, windowMillis: number) => {
  const { account, addresses, call } = site
  const { token, workspaceId } = account
  const refusing = await listen(async (_, response) => {
    response.writeHead(401, { "content-type": "application/json" }).end('{"error":{"message":"no"}}')
  })
  // The first is that of whoever names none.
  await call("POST", "/api/provider-keys", {
    workspaceId,
    name: "well",
    provider: "offline",
    model: "offline"
  })
  const key = await call("POST", "/api/provider-keys", {
    workspaceId,
    name: "refused",
    provider: "openai-compatible",
    model: "none",
    apiKey: "none",
    baseUrl: `${refusing.base}/v1`
  })
  const agent = await call("POST", "/api/agents", { workspaceId, name: "fails", providerKeyId: key.id })
  const kindOf = new Map<string, Kind>()
  let going = true

  const send = async (n: number) => {
    await sleep(random.between(0, windowMillis))
    const kind = kinds[n % kinds.length] ?? "completed"
    const asks = ["approved", "rejected", "cancelled"].includes(kind)
    const task = {
      workspaceId,
      prompt: `${kind} ${n}${asks ? `\ncall remember {"key":"${n}","value":"v"}` : ""}`,
      autonomyLevel: asks ? "supervised" : "autonomous",
      selectedProvider: kind === "failed" ? undefined : "offline",
      agentId: kind === "failed" ? agent.id : undefined
    }
    const agentId = n % (2 * kinds.length) < kinds.length ? undefined : agent.id
    const message = { workspaceId, content: `${n}`, agentId }
    const [path, json] = kind === "turn" ? ["/api/chat/messages", message] : ["/api/tasks", task]
    const post = () => postUntilAnswered(addresses, { path, json, token, key: `work-${n}` })
    let answer = await post()
    // A node lets a user read so many turns at a time.
    while (answer.status === 429) {
      await sleep(1_000)
      answer = await post()
    }
    if (answer.status > 299) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    if (kind !== "turn") kindOf.set(JSON.parse(answer.text).data.id, kind)
  }
  const sent = Promise.all(Array.from({ length: count }, (_, n) => send(n)))

  const decide = async () => {
    for (let n = 0; going; n++) {
      try {
        const node = n % addresses.length
        for (const { id, runId } of await call(
          "GET",
          `/api/approvals?workspaceId=${workspaceId}&limit=100`,
          undefined,
          node
        )) {
          const kind = kindOf.get(runId)
          if (kind === undefined) continue
          const decision = { decision: kind === "approved" ? "approve" : "reject" }
          const answer =
            kind === "cancelled"
              ? await account.client(node).request("POST", `/api/runs/${runId}/cancel`)
              : await account.client(node).request("POST", `/api/approvals/${id}`, decision)
          await answer.body?.cancel()
        }
      } catch {
        // The other node is asked next.
      }
      await sleep(200)
    }
  }
  const deciding = decide()
  return {
    /** Until all of it is sent and over. */
    over: async () => {
      await sent
      await until(
        async () => {
          const { PENDING = 0, RUNNING = 0, WAITING_APPROVAL = 0 } = await statusCounts(site.url)
          await sleep(100)
          return PENDING + RUNNING + WAITING_APPROVAL === 0
        },
        "all work is over",
        overMillis
      )
      going = false
      await deciding
      refusing.close()
    }
  }
}
