import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { ConversationId, RunId } from "../../src/Schemas/Ids.ts"
import type { EventBatch } from "../../src/Schemas/RunEvent.ts"

interface Kept {
  readonly conversationId: ConversationId | null
  readonly steps: Map<number, string>
  /** The last event of a batch by its first. */
  readonly batches: Map<number, number>
  end: string | undefined
  /**
   * When the last of it was asked for that was acknowledged, or before: a slow machine may hear of an end when it is long
   * ago. Others may find a run before its maker hears that it is stored.
   */
  at: number | undefined
}

interface RunRow {
  readonly id: RunId
  readonly status: string
  readonly said: string | null
  readonly finished: string | null
  readonly pruned: number
}

/** An end as it is compared: of a FAILED run the error. */
export const endOf = (status: string, said: string | null) => `${status}: ${said}`

const terminal: ReadonlySet<string> = new Set(["COMPLETED", "FAILED", "CANCELLED"])

/** What a store has said that it keeps: told by those who write, and compared with what it holds. */
export const make = (journalMillis: number) => {
  const runs = new Map<RunId, Kept>()
  const removed = new Set<ConversationId>()
  const seen = new Map<RunId, string>()
  const lies: Array<string> = []

  const underWay = new Set<{ readonly since: number }>()

  const of = (id: RunId) => {
    const kept = runs.get(id)
    if (kept === undefined) throw new Error(`nobody made ${id}`)
    kept.at = Math.min(Date.now(), ...Array.from(underWay, ({ since }) => since))
    return kept
  }
  const once = <K>(known: Map<K, string>, key: K, value: string, what: string) => {
    const former = known.get(key)
    if (former !== undefined && former !== value) lies.push(`${what} was "${former}" and is "${value}"`)
    known.set(key, value)
  }

  /** Whether a run may be gone: turns are pruned, and go with their conversation. */
  const mayBeGone = ({ at, conversationId }: Kept) =>
    conversationId !== null && (removed.has(conversationId) || Date.now() - (at ?? 0) > journalMillis / 2)

  return {
    /** A call, in which something may be acknowledged. */
    during: <A, E, R>(call: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const one = { since: Date.now() }
        underWay.add(one)
        return Effect.ensuring(
          call,
          Effect.sync(() => underWay.delete(one))
        )
      }),
    made: (id: RunId, conversationId: ConversationId | null) => {
      runs.set(id, { conversationId, steps: new Map(), batches: new Map(), end: undefined, at: undefined })
    },
    /** To be said before it is asked for. */
    removed: (id: ConversationId) => void removed.add(id),
    step: (id: RunId, index: number, text: string) => {
      once(of(id).steps, index, text, `step ${index} of ${id}`)
    },
    batch: (id: RunId, batch: EventBatch | undefined) => {
      if (batch !== undefined) of(id).batches.set(batch[0].id, batch.at(-1)?.id ?? 0)
    },
    end: (id: RunId, end: string) => {
      const kept = of(id)
      if (kept.end !== undefined && kept.end !== end) lies.push(`the end of ${id} was ${kept.end}, is ${end}`)
      kept.end = end
    },
    /** What the store holds otherwise than it said, or said twice in different words. */
    problems: Effect.gen(function* () {
      const sql = yield* PgClient
      const expected = Array.from(runs, ([id, kept]) => ({
        id,
        kept,
        steps: Array.from(kept.steps),
        batches: Array.from(kept.batches),
        end: kept.end,
        isStored: kept.at !== undefined
      }))
      // Runs last: they tell why the rest of them is gone.
      const steps = new Map(
        (yield* sql<{ key: string; text: string }>`
          select run_id || ' ' || index as key, step->>'text' as text from run_steps`).map((row) => [
          row.key,
          row.text
        ])
      )
      const batches = new Map(
        (yield* sql<{ key: string; last: number }>`
          select run_id || ' ' || first_id as key, last_id::float8 as last from run_events`).map((row) => [
          row.key,
          row.last
        ])
      )
      const rows = new Map(
        (yield* sql<RunRow>`
          select id, status, coalesce(output, error) as said, finished_at::text as finished, pruned
          from runs`).map((row) => [row.id, row])
      )
      const problems = [...lies]
      for (const { batches: ofRun, end, id, isStored, kept, steps: ownSteps } of expected) {
        const row = rows.get(id)
        if (row === undefined) {
          if (isStored && !mayBeGone(kept)) problems.push(`${id} is gone`)
          continue
        }
        const is = endOf(row.status, row.said)
        if (end !== undefined && is !== end) problems.push(`${id} ended "${end}" and is "${is}"`)
        if (terminal.has(row.status)) {
          const whole = `${is} at ${row.finished}`
          const former = seen.get(id) ?? whole
          if (former !== whole) problems.push(`${id} was over as "${former}" and is as "${whole}"`)
          seen.set(id, whole)
        } else if (seen.has(id)) problems.push(`${id} was over and is ${row.status}`)
        for (const [index, text] of row.pruned < 2 ? ownSteps : []) {
          const found = steps.get(`${id} ${index}`)
          if (found !== text) problems.push(`step ${index} of ${id} was "${text}" and is "${found}"`)
        }
        for (const [first, last] of row.pruned < 1 ? ofRun : []) {
          const found = batches.get(`${id} ${first}`)
          if (found !== last) problems.push(`events ${first} to ${last} of ${id} are to ${found}`)
        }
      }
      return problems
    })
  }
}

export type Acknowledged = ReturnType<typeof make>
