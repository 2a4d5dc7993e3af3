import { type Kill, type ModelCall, onDatabase, type ToolUse } from "./Durability.ts"

export interface StepRow {
  readonly runId: string
  readonly prompt: string
  readonly worker: string
  readonly runEpoch: number
  readonly index: number
  readonly epoch: number
  /** When it was journaled (the begin of that statement), in milliseconds since 1970. */
  readonly at: number
  /** Why a tool call went wrong, null where it did not. */
  readonly error: string | null
}

/** All journaled steps of the database, in order. */
export const journaled = (url: string): Promise<ReadonlyArray<StepRow>> =>
  onDatabase(
    url,
    (sql) => sql<StepRow>`
      select s.run_id as "runId", r.prompt, r.worker, r.epoch as "runEpoch", s.index, s.epoch,
        extract(epoch from s.created_at)::float8 * 1000 as at,
        case when (s.step->'result'->>'isError')::boolean then s.step->'result'->>'result' end as error
      from run_steps s join runs r on r.id = s.run_id
      order by s.run_id, s.index`
  )

export interface Examined {
  readonly steps: number
  readonly calls: number
  readonly repeats: number
  /** Steps that were done again although their result was there, or more often than kills can explain. */
  readonly faults: ReadonlyArray<string>
}

/**
 * Compares the journal with what the mocks were asked. A step may be asked for once, and once more for each
 * kill that found it in flight; never after its result was journaled.
 */
export const examine = (
  rows: ReadonlyArray<StepRow>,
  asked: { readonly model: ReadonlyArray<ModelCall>; readonly tools: ReadonlyArray<ToolUse> },
  kills: ReadonlyArray<Kill>
): Examined => {
  const key = (type: string, job: number, step: number) => `${type} ${job}/${step}`
  const calls = new Map<string, Array<{ readonly at: number; readonly node?: number }>>()
  const add = (name: string, call: { readonly at: number; readonly node?: number }) => {
    const known = calls.get(name)
    if (known === undefined) calls.set(name, [call])
    else known.push(call)
  }
  for (const call of asked.model) add(key("model", call.job, call.step), call)
  for (const use of asked.tools) add(key("tool", use.job, use.step), use)

  const faults: Array<string> = []
  let repeats = 0
  let total = 0
  for (const row of rows) {
    const job = Number(/job (\d+)/.exec(row.prompt)?.[1])
    const isModel = row.index % 2 === 0
    const name = key(isModel ? "model" : "tool", job, Math.floor(row.index / 2))
    const made = calls.get(name) ?? []
    const inFlight = kills.filter(
      (kill) =>
        row.at >= kill.from &&
        made.some(({ at, node }) => at <= kill.to && (node === undefined || node === kill.node))
    )
    total += made.length
    repeats += Math.max(0, made.length - 1)
    if (row.error !== null) faults.push(`${name}: ${row.error}`)
    if (made.length === 0) faults.push(`${name}: journaled but never asked`)
    if (made.length > 1 + inFlight.length) {
      faults.push(`${name}: asked ${made.length} times, ${inFlight.length} kills found it in flight`)
    }
    const late = made.filter(({ at }) => at > row.at)
    if (late.length > 0) {
      const delay = late.map(({ at }) => Math.round(at - row.at)).join(", ")
      faults.push(`${name}: asked again ${delay} ms after it was journaled`)
    }
  }
  return { steps: rows.length, calls: total, repeats, faults }
}
