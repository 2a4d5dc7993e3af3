import { sleep } from "../../test/support/Durability.ts"
import type { makeClient } from "../../test/support/Process.ts"
import type { Seeded } from "./Seed.ts"

type Client = ReturnType<typeof makeClient>

/** Somebody of the free plan who has made several workspaces. */
export interface Account {
  readonly clients: readonly [Client, ...ReadonlyArray<Client>]
  readonly workspaces: readonly [string, ...ReadonlyArray<string>]
}

const patienceMillis = 30_000

/**
 * What one account does all at once, as fast as it is answered and `pauseMillis` allow: tasks and chats that hold a
 * model for a minute, chats hung up on at once, bodies as large as they may be, and lists.
 */
const attack = (
  { clients, workspaces }: Account,
  random: Seeded,
  { count, isOn, pauseMillis }: Hostility
): ReadonlyArray<Promise<void>> => {
  const value = "x".repeat(100_000)
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await random.pick(clients).request(method, path, body, AbortSignal.timeout(patienceMillis))
    await answer.text()
    return answer.status
  }
  const forever = async (what: string, work: () => Promise<number | string>) => {
    while (isOn()) {
      const answered = await work().catch(() => "nothing")
      count(`${what}: ${answered}`)
      await sleep(pauseMillis)
    }
  }
  const task = () => ask("POST", "/api/tasks", { workspaceId: random.pick(workspaces), prompt: "hold 60" })
  const chat = async () => {
    const leaving = new AbortController()
    const body = { workspaceId: random.pick(workspaces), content: "hold 60" }
    const answer = await random.pick(clients).request("POST", "/api/chat/messages", body, leaving.signal)
    if (answer.status === 200) await answer.body?.getReader().read()
    leaving.abort()
    return answer.status
  }
  const memory = () =>
    ask("POST", "/api/chat/memory", {
      workspaceId: random.pick(workspaces),
      key: `k${random.between(1, 20)}`,
      value
    })
  const lists = [
    "/api/runs?limit=100&",
    "/api/chat/conversations?limit=100&",
    "/api/agents?",
    "/api/chat/memory?"
  ]
  const list = () =>
    ask("GET", `${random.pick(["/api/runs?limit=100&", ...lists])}workspaceId=${random.pick(workspaces)}`)
  const metadata = () =>
    ask("POST", "/api/connectors", {
      workspaceId: random.pick(workspaces),
      type: "mcp",
      metadata: { url: "https://example.org", text: value }
    })
  return [
    forever("task", task),
    forever("task", task),
    forever("chat", chat),
    forever("memory of 100 kB", memory),
    forever("list", list),
    forever("connector of 100 kB", metadata)
  ]
}

export interface Hostility {
  readonly isOn: () => boolean
  /** Told what was asked for and how it was answered. */
  readonly count: (answered: string) => void
  readonly pauseMillis: number
}

/** All accounts at once, until it is off and all is answered. */
export const attackAll = (
  accounts: ReadonlyArray<Account>,
  random: (n: number) => Seeded,
  hostility: Hostility
) => Promise.all(accounts.flatMap((account, n) => attack(account, random(n), hostility)))
