import type { CronFire, FireOutcome } from "../../../../src/Schemas/CronFire.ts"
import type { RunStatus } from "../../../../src/Schemas/Run.ts"
import { duration } from "../../Format.ts"

/** What is shown of a slot: how the run that it made ended, or why there is none. */
export type Kind =
  | "completed"
  | "failed"
  | "cancelled"
  | "running"
  | "waiting"
  | "pending"
  | "fired"
  | "overlap"
  | "missed"
  | "agent_inactive"
  | "budget_exceeded"

interface Look {
  readonly word: string
  /** Beside the colour, so that it is never the colour alone; most slots are completed, and those are calm. */
  readonly mark: string
}

export const looks: Readonly<Record<Kind, Look>> = {
  completed: { word: "Completed", mark: "" },
  failed: { word: "Failed", mark: "✕" },
  cancelled: { word: "Cancelled", mark: "⊘" },
  running: { word: "Running", mark: "◐" },
  waiting: { word: "Waiting for approval", mark: "‖" },
  pending: { word: "Pending", mark: "○" },
  fired: { word: "Made a run", mark: "•" },
  overlap: { word: "Overlap: the run before was not over", mark: "=" },
  missed: { word: "Missed: nothing could fire it", mark: "–" },
  agent_inactive: { word: "Agent was switched off", mark: "z" },
  budget_exceeded: { word: "Budget of the month was used up", mark: "$" }
}

/** The word of a kind without what explains it. */
export const shortWord = (kind: Kind): string => looks[kind].word.split(":", 1)[0] ?? ""

const byStatus: Readonly<Record<RunStatus, Kind>> = {
  PENDING: "pending",
  RUNNING: "running",
  WAITING_APPROVAL: "waiting",
  COMPLETED: "completed",
  FAILED: "failed",
  CANCELLED: "cancelled"
}

export type Statuses = ReadonlyMap<string, RunStatus>

/** What a slot is shown as; a run of which no state is known has just been made, or is gone. */
export const kindOf = ({ outcome, runId }: CronFire, statuses: Statuses): Kind => {
  if (outcome !== "fired" && outcome !== "backfilled") return outcome
  const status = runId === null ? undefined : statuses.get(runId)
  return status === undefined ? "fired" : byStatus[status]
}

export const outcomeWords: Readonly<Record<FireOutcome, string>> = {
  fired: "fired",
  overlap: "overlap",
  missed: "missed",
  agent_inactive: "agent off",
  budget_exceeded: "over budget",
  backfilled: "made up"
}

/** How many slots there are of each kind, in the order of the legend, without those that there are none of. */
export const countKinds = (
  fires: ReadonlyArray<CronFire>,
  statuses: Statuses
): ReadonlyArray<readonly [kind: Kind, count: number]> => {
  const counts = new Map<Kind, number>()
  for (const fire of fires) {
    const kind = kindOf(fire, statuses)
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return (Object.keys(looks) as ReadonlyArray<Kind>).flatMap((kind) => {
    const count = counts.get(kind)
    return count === undefined ? [] : [[kind, count] as const]
  })
}

/** The slots in a sentence, for who does not see the strip. */
export const summary = (fires: ReadonlyArray<CronFire>, statuses: Statuses): string => {
  if (fires.length === 0) return "No slot yet."
  const parts = countKinds(fires, statuses).map(
    ([kind, count]) => `${count} ${shortWord(kind).toLowerCase()}`
  )
  const slots = fires.length === 1 ? "The last slot" : `The last ${fires.length} slots`
  return `${slots}: ${parts.join(", ")}.`
}

/** How late a slot was handled, as people say it. */
export const lagWords = ({ lagMs, outcome }: CronFire): string => {
  const verb = outcome === "fired" ? "fired" : outcome === "backfilled" ? "made up" : "settled"
  return `${verb} ${duration(lagMs)} after its instant`
}

/** Pages of the ledger as one, newest first: of what is there twice the later read counts. At most that many are kept. */
export const merge = (
  known: ReadonlyArray<CronFire>,
  read: ReadonlyArray<CronFire>,
  most: number
): ReadonlyArray<CronFire> => {
  const slots = new Map(known.map((fire) => [fire.scheduledAt.getTime(), fire]))
  for (const fire of read) slots.set(fire.scheduledAt.getTime(), fire)
  return [...slots.entries()]
    .sort(([one], [other]) => other - one)
    .slice(0, most)
    .map(([, fire]) => fire)
}

/** Whether what was read goes on from what is known: else there are slots between them that were not read. */
export const isJoined = (known: ReadonlyArray<CronFire>, read: ReadonlyArray<CronFire>): boolean => {
  const newest = known[0]?.scheduledAt.getTime()
  return newest === undefined || read.some(({ scheduledAt }) => scheduledAt.getTime() <= newest)
}

/** Where a key leads in a grid of cells; undefined: it is none of those that move. */
export const move = (key: string, index: number, count: number, columns: number): number | undefined => {
  const last = count - 1
  const to = (wanted: number) => (wanted < 0 || wanted > last ? index : wanted)
  switch (key) {
    case "ArrowLeft":
      return to(index - 1)
    case "ArrowRight":
      return to(index + 1)
    case "ArrowUp":
      return to(index - columns)
    case "ArrowDown":
      return to(index + columns)
    case "Home":
      return 0
    case "End":
      return last
    default:
      return undefined
  }
}
