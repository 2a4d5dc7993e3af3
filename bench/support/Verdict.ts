import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { Settings } from "../../src/Services/Settings.ts"
import { onDatabase } from "../../test/support/Durability.ts"
import { problems } from "../../test/support/Invariants.ts"
import type { Cluster, Fault } from "./Cluster.ts"
import { type Attempt, resultOf } from "./Counting.ts"
import type { Load } from "./Load.ts"
import { faultOf } from "./Streams.ts"

interface RunRow {
  readonly id: string
  readonly kind: "task" | "turn"
  readonly status: string
  readonly prompt: string
  readonly output: string | null
  readonly error: string | null
  readonly errorCode: string | null
  readonly attempts: number
  readonly finishedAt: number | null
}

interface StepRow {
  readonly runId: string
  readonly index: number
  readonly epoch: number
  readonly at: number
  readonly text: string
  readonly callId: string | null
}

export const runRows = (url: string) =>
  onDatabase(
    url,
    (sql) => sql<RunRow>`
      select id, kind, status, prompt, output, error, error_code as "errorCode", attempts,
        extract(epoch from finished_at)::float8 * 1000 as "finishedAt"
      from runs`
  )

const stepRows = (url: string) =>
  onDatabase(
    url,
    (sql) => sql<StepRow>`
      select run_id as "runId", index, epoch, extract(epoch from created_at)::float8 * 1000 as at,
        regexp_replace(left(case when step->>'type' = 'tool' then step->'result'->>'result' else step->>'text' end,
          40), '\\s+', ' ', 'g') as text,
        step->'result'->>'id' as "callId"
      from run_steps order by run_id, index`
  )

/**
 * Why a call was made again that was under way, or had its answer and was not journaled yet: its node was killed;
 * its node was frozen, or the database away, for long enough to cost a lease. The others are faults: its node was told
 * to stop; nothing at all was done that excuses it; the call was in the journal.
 */
type Cause = "killed" | "lease" | "SIGTERM" | "unexcused" | "journaled"

const overlaps = (fault: Fault, from: number, to: number) => fault.from <= to && fault.to >= from

const causeOf = (
  { from, pid }: Attempt,
  again: Attempt,
  journaledAt: number | undefined,
  { faults, leaseSeconds }: { faults: ReadonlyArray<Fault>; leaseSeconds: number }
): Cause => {
  if (journaledAt !== undefined && again.from > journaledAt) return "journaled"
  // What a node sent before it was stopped may arrive behind the call of its successor.
  const pids = [pid, again.pid]
  const during = (kind: Fault["kind"]) =>
    faults.filter(
      (fault) =>
        fault.kind === kind &&
        overlaps(fault, from, again.from) &&
        (fault.pid === undefined || pids.includes(undefined) || pids.includes(fault.pid))
    )
  if (during("kill -9").length > 0) return "killed"
  if (during("SIGTERM").length > 0) return "SIGTERM"
  const long = [...during("SIGSTOP"), ...during("database away")]
  return long.some((fault) => fault.to - fault.from >= leaseSeconds * 500) ? "lease" : "unexcused"
}

export interface Complaint {
  readonly kind: string
  /** Of the run. */
  readonly id: string | undefined
  readonly text: string
}

/** What became of what a phase promised. */
export const judge = async (cluster: Cluster, load: Load, leaseSeconds: number) => {
  const { direct, faults, tools } = cluster
  const rows = await runRows(direct)
  const steps = await stepRows(direct)
  const broken = await onDatabase(direct, (sql) =>
    Effect.provideService(
      problems({
        perWorkspace: Settings.defaults.runsPerWorkspace,
        turnsPerWorkspace: Settings.defaults.turnsPerWorkspace,
        perOwner: Settings.defaults.runsPerOwner,
        // Nothing is old enough to be forgotten.
        eventMillis: 3_600_000,
        journalMillis: 3_600_000
      }),
      PgClient.PgClient,
      sql
    )
  )
  const runs = new Map(rows.map((row) => [row.id, row]))
  const journaled = new Map(steps.map((step) => [`${step.runId}/${step.callId}`, step.at]))

  const complaints: Array<Complaint> = []
  const complain = (kind: string, id: string | undefined, text: string) =>
    void complaints.push({ kind, id, text })

  const lost = load.promised.filter(({ id }) => !runs.has(id))
  for (const { id, kind } of lost) complain("lost", id, `this ${kind} was promised and is not there`)
  const stuck = rows.filter(({ finishedAt }) => finishedAt === null)
  for (const { id, status } of stuck) complain("stuck", id, `still ${status}`)
  const failed = rows.filter(({ status }) => status === "FAILED" || status === "CANCELLED")
  for (const { error, errorCode, id } of failed) complain(`FAILED ${errorCode}`, id, error ?? "")

  const wavesBefore = (at: number) =>
    faults.some(({ from, kind }) => kind === "no tools" && from <= at && at - from < 60_000)
  const tokensOf = ({ prompt }: RunRow) =>
    Array.from(prompt.matchAll(/"token":"([^"]+)"/g), ([, t]) => t ?? "")
  const incomplete = rows.filter(
    (row) =>
      row.status === "COMPLETED" &&
      !tokensOf(row).every((token) => `${row.output}\n`.includes(`: ${resultOf(token)}\n`))
  )
  // A turn says it to its reader, and goes on.
  const told = incomplete.filter(({ finishedAt, kind }) => kind === "turn" && wavesBefore(finishedAt ?? 0))
  const toolless = incomplete.filter((row) => !told.includes(row))
  for (const { id, output } of toolless) {
    complain(
      "without tools",
      id,
      `COMPLETED: ${(output ?? "").split("\n").slice(1).join("; ").slice(0, 300)}`
    )
  }

  const repeats = { killed: 0, lease: 0, SIGTERM: 0, unexcused: 0, journaled: 0 } satisfies Record<
    Cause,
    number
  >
  let calls = 0
  for (const [token, made] of tools.attempts) {
    calls += made.length
    const key = made[0]?.key ?? ""
    if (made.some((attempt) => attempt.key !== key))
      complain("keys", key.split("/")[0], `${token} has several keys`)
    for (const [n, again] of made.slice(1).entries()) {
      const before = made[n]
      if (before === undefined) continue
      const cause = causeOf(before, again, journaled.get(key), { faults, leaseSeconds })
      repeats[cause]++
      if (cause === "killed" || cause === "lease") continue
      const kept = journaled.get(key)
      complain(
        `repeated, ${cause}`,
        key.split("/")[0],
        `${token} began again after ${again.from - before.from} ms; the call before took ` +
          `${(before.to ?? 0) - before.from} ms, process ${before.pid}, then ${again.pid}` +
          (kept === undefined ? "" : `; in the journal ${Math.round(kept - before.from)} ms after it began`)
      )
    }
  }

  const isOver = (id: string) => runs.get(id)?.finishedAt != null
  const faulty = load.streams.flatMap((log) => {
    const fault = faultOf(log)
    // The stream of a run that goes on can't end.
    return fault === undefined || (log.state === "left" && !isOver(log.id)) ? [] : [{ log, fault }]
  })
  for (const { fault, log } of faulty) {
    complain("stream", log.id, `${fault} (${log.connections} connections, ${log.events.length} events)`)
  }
  for (const text of [...broken, ...cluster.odd]) complain("site", undefined, text)

  return {
    complaints,
    counts: {
      promised: load.promised.length,
      stored: rows.length,
      completed: rows.filter(({ status }) => status === "COMPLETED").length,
      lost: lost.length,
      stuck: stuck.length,
      failed: failed.length,
      toolless: toolless.length,
      told: told.length,
      calls,
      repeats,
      streams: load.streams.length,
      connections: load.streams.reduce((sum, { connections }) => sum + connections, 0),
      endless: faulty.filter(({ log }) => log.state !== "ended").length,
      wrongStreams: faulty.filter(({ log }) => log.state === "ended").length
    },
    /** What is known of a run: its steps, its calls and what was done to their nodes meanwhile. */
    history: (id: string): ReadonlyArray<string> => {
      const run = runs.get(id)
      const began = Array.from(tools.attempts.values())
        .flat()
        .filter(({ key }) => key.startsWith(`${id}/`))
      const lines = [
        ...steps
          .filter(({ runId }) => runId === id)
          .map(({ at, epoch, index, text }) => ({ at, text: `step ${index}, execution ${epoch}: ${text}` })),
        ...began.map(({ from, pid, to, token }) => ({
          at: from,
          text: `call ${token} by process ${pid}, ${to === undefined ? "open" : `${to - from} ms`}`
        })),
        ...faults.map(({ from, kind, pid, to }) => ({
          at: from,
          text: `--- ${kind}${pid === undefined ? "" : ` of process ${pid}`}, ${to - from} ms`
        }))
      ].sort((a, b) => a.at - b.at)
      const first = began[0]?.from ?? lines[0]?.at ?? 0
      const lastAt = (run?.finishedAt ?? Date.now()) + 1_000
      return [
        `${id}: ${run?.kind} ${run?.status}, ${run?.attempts} attempts`,
        ...lines
          .filter(({ at }) => at > first - 2_000 && at < lastAt)
          .map(({ at, text }) => `${((at - first) / 1000).toFixed(2).padStart(8)} s  ${text}`)
      ]
    }
  }
}

export type Verdict = Awaited<ReturnType<typeof judge>>
