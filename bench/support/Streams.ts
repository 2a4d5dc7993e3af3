import { sleep } from "../../test/support/Durability.ts"
import { type EventReader, readEvents, type SeenEvent, textOf } from "../../test/support/EventReader.ts"
import type { Cluster } from "./Cluster.ts"
import type { Seeded } from "./Seed.ts"

/** What a reader saw of a run, over all its connections. */
export interface StreamLog {
  /** Of a task or a turn. */
  readonly id: string
  readonly kind: "task" | "turn"
  readonly events: Array<SeenEvent>
  connections: number
  /** `mute`: a connection was closed in order without a last word. */
  state: "open" | "ended" | "mute" | "left"
  /** Makes its reader go away for good. */
  leave?: () => void
}

const isEnd = ({ event }: SeenEvent) => event === "done" || event === "error"
const isToResume = ({ data, event }: SeenEvent) => event === "error" && data.code === "unavailable"

/**
 * Reads a stream to its end, by as many connections as it takes, on whichever node answers: behind an error
 * `unavailable`, when the connection breaks, and one in three times when the reader itself has left.
 */
export const follow = async (
  { account, nodes }: Cluster,
  log: StreamLog,
  random: Seeded,
  first: EventReader | undefined
) => {
  let reader = first
  let isLeaving = random.lucky(33)
  const leavesAfter = random.between(1, 6)
  log.leave = () => {
    log.state = "left"
    reader?.leave()
  }
  const isOpen = () => log.state === "open"
  const connect = async () => {
    while (isOpen()) {
      const url = `${nodes.server(random.between(0, 1)).baseUrl}/api/runs/${log.id}/events`
      try {
        const lastEventId = log.events.at(-1)?.id
        const opened = await readEvents(url, account.token, lastEventId === undefined ? {} : { lastEventId })
        log.connections++
        return opened
      } catch {
        await sleep(300)
      }
    }
    return undefined
  }
  while (isOpen()) {
    reader ??= await connect()
    if (reader === undefined) return
    const current = reader
    if (isLeaving) {
      while (current.ended() === undefined && current.events.length < leavesAfter) await sleep(50)
      current.leave()
      isLeaving = false
    }
    const how = await current.end
    const last = current.events.at(-1)
    log.events.push(...current.events.filter((event) => !isToResume(event)))
    if (last !== undefined && isEnd(last) && !isToResume(last)) log.state = "ended"
    else if (how === "whole" && (last === undefined || !isToResume(last)) && isOpen()) log.state = "mute"
    reader = undefined
  }
}

const stride = 1_000_000

/** What is wrong with a stream that has ended; undefined if nothing is (CONTRACT.md section 7). */
export const faultOf = ({ events, kind, state }: StreamLog): string | undefined => {
  if (state !== "ended") return state === "mute" ? "closed without done or error" : "without an end"
  if (events.filter(isEnd).length !== 1) return "more than one end"
  if (kind === "turn" && events[0]?.event !== "conversation") return `begins with ${events[0]?.event}`
  for (const [n, { id }] of events.entries()) {
    const before = events[n - 1]?.id ?? 0
    if (id <= before) return `event ${id} comes behind ${before}`
    // An execution that takes a run up begins at a million more.
    if (id !== before + 1 && id % stride !== 1) return `between ${before} and ${id} events are missing`
  }
  const idsOf = (name: string) =>
    new Set(events.filter(({ event }) => event === name).map(({ data }) => data.id))
  const last = events.at(-1)
  if (last?.event !== "done") return undefined
  const answered = idsOf("tool_result")
  for (const id of idsOf("tool_call")) if (!answered.has(id)) return `the call ${id} has no result`
  if (kind === "turn" && textOf(events) !== last.data.message.content) {
    return "its deltas are not its message"
  }
  return undefined
}
