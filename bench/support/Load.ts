import { sleep } from "../../test/support/Durability.ts"
import { Refused, readEvents } from "../../test/support/EventReader.ts"
import type { Cluster } from "./Cluster.ts"
import { type Seeded, seeded } from "./Seed.ts"
import { follow, type StreamLog } from "./Streams.ts"

const patienceMillis = 10_000

/** One task or message, as the seed has it. */
interface Planned {
  readonly n: number
  readonly at: number
  readonly kind: "task" | "turn"
  readonly workspace: number
  readonly level: "autonomous" | "semi-autonomous" | "supervised"
  readonly calls: ReadonlyArray<{ readonly tool: "look" | "act"; readonly millis: number }>
  readonly isRead: boolean
  readonly node: number
}

/** What was promised: a task by its 201, a turn by its first event. */
export interface Promised {
  readonly id: string
  readonly kind: "task" | "turn"
}

const planned = (random: Seeded, n: number, kind: Planned["kind"], windowMillis: number): Planned => ({
  n,
  // Many at once, and more all the while.
  at: random.lucky(40) ? random.between(0, 500) : random.between(0, windowMillis),
  kind,
  workspace: random.between(0, 3),
  level: random.lucky(65) ? "autonomous" : random.lucky(70) ? "semi-autonomous" : "supervised",
  calls: Array.from({ length: random.between(2, 6) }, () => ({
    tool: random.lucky(30) ? "look" : "act",
    millis: random.between(50, 1_200)
  })),
  isRead: kind === "turn" || random.lucky(40),
  node: random.between(0, 1)
})

/** Gives a cluster its work over a time, and people who decide about calls until they are told to stop. */
export const startLoad = (
  cluster: Cluster,
  { seed, tasks, turns, windowMillis }: { seed: string; tasks: number; turns: number; windowMillis: number }
) => {
  const { account, nodes, workspaces } = cluster
  const random = seeded(`${seed} load`)
  const plan = Array.from({ length: tasks + turns }, (_, n) =>
    planned(random, n, n < tasks ? "task" : "turn", windowMillis)
  )
  const promised: Array<Promised> = []
  const streams: Array<StreamLog> = []
  const readers: Array<Promise<void>> = []
  const answers = new Map<string, number>()
  const giveUpAt = Date.now() + windowMillis + 60_000
  let going = true
  let approved = 0

  const count = (answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1)
  const read = (log: StreamLog, first: Parameters<typeof follow>[3], n: number) => {
    streams.push(log)
    readers.push(follow(cluster, log, seeded(`${seed} reader ${n}`), first))
  }

  const send = async (item: Planned, attempt: number): Promise<boolean> => {
    const { id: workspaceId, connectorId } = workspaces[item.workspace] ?? { id: "", connectorId: "" }
    const node = (item.node + attempt) % 2
    const text = item.calls
      .map(({ millis, tool }, k) => {
        const token = `${item.kind}.${item.n}.${attempt}.${k}`
        return `call chaos__${tool} ${JSON.stringify({ token, millis })}`
      })
      .join("\n")
    if (item.kind === "turn") {
      const json = { workspaceId, content: text, autonomyLevel: item.level }
      const reader = await readEvents(`${nodes.server(node).baseUrl}/api/chat/messages`, account.token, {
        json
      })
      while (reader.events.length === 0 && reader.ended() === undefined) await sleep(20)
      const id = reader.events[0]?.data?.turnId
      if (typeof id !== "string") throw new Error("broken off before its first event")
      promised.push({ id, kind: "turn" })
      read({ id, kind: "turn", events: [], connections: 1, state: "open" }, reader, item.n)
      return true
    }
    const json = {
      workspaceId,
      prompt: text,
      autonomyLevel: item.level,
      connectorIds: [connectorId]
    }
    const answer = await account
      .client(node)
      .request("POST", "/api/tasks", json, AbortSignal.timeout(patienceMillis))
    if (answer.status !== 201) throw new Refused(answer.status, await answer.text())
    const { data } = (await answer.json()) as { data: { id: string } }
    promised.push({ id: data.id, kind: "task" })
    if (item.isRead) {
      read({ id: data.id, kind: "task", events: [], connections: 0, state: "open" }, undefined, item.n)
    }
    return true
  }

  const submitted = Promise.all(
    plan.map(async (item) => {
      await sleep(item.at)
      for (let attempt = 0; ; attempt++) {
        try {
          await send(item, attempt)
          return count("accepted")
        } catch (error) {
          count(error instanceof Refused ? String(error.status) : "no answer")
        }
        if (Date.now() > giveUpAt) return count("given up")
        await sleep(500)
      }
    })
  )

  const decide = async (workspaceId: string) => {
    for (let n = 0; going; n++) {
      try {
        const ask = (method: string, path: string, json?: object) =>
          account.client(n % 2).request(method, path, json, AbortSignal.timeout(patienceMillis))
        const waiting = await ask("GET", `/api/approvals?workspaceId=${workspaceId}&limit=100`)
        const { data = [] } = (await waiting.json()) as { data?: ReadonlyArray<{ id: string }> }
        for (const { id } of data) {
          const decided = await ask("POST", `/api/approvals/${id}`, { decision: "approve" })
          await decided.body?.cancel()
          if (decided.status === 200) approved++
        }
      } catch {
        // The other node is asked next.
      }
      await sleep(250)
    }
  }
  const deciding = Promise.all(workspaces.map(({ id }) => decide(id)))

  return {
    answers: answers as ReadonlyMap<string, number>,
    approved: () => approved,
    promised: promised as ReadonlyArray<Promised>,
    streams: streams as ReadonlyArray<StreamLog>,
    submitted,
    /** Lets everybody go; streams that are open then have not ended. */
    stop: async () => {
      going = false
      for (const log of streams) if (log.state === "open") log.leave?.()
      await Promise.all([deciding, ...readers])
    }
  }
}

export type Load = ReturnType<typeof startLoad>
