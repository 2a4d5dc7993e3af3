import * as Effect from "effect/Effect"
import type { RunId } from "../../../../Schemas/Ids.ts"
import { kindOf, type StoredRun } from "../../../../Schemas/Run.ts"
import {
  aloneFrom,
  givenUp,
  type HeldRun,
  keepLosses,
  loseWorker,
  mayBegin,
  restMillis,
  settleLeases,
  suspectFrom
} from "../../../../Schemas/RunLoss.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { Claimant, RunRepo } from "../../../../Services/RunRepo.ts"
import { noteExecution } from "../Executions.ts"
import { inOrder } from "../Order.ts"
import { setRun, type Tables } from "../Store.ts"
import { type Moment, moment } from "./Moment.ts"
import { start } from "./Start.ts"

interface Held extends HeldRun {
  readonly run: StoredRun
  readonly until: number
  readonly endsInMillis: number
}

/** What a worker holds; with null, what is nobody's. */
const heldBy = (tables: Tables, worker: string | null, { millis }: Moment): ReadonlyArray<Held> => {
  const { crashes, leases, runs, steps } = tables
  return Array.from(leases).flatMap(([id, lease]) => {
    const run = runs.get(id)
    if (lease.worker !== worker || run?.status !== "RUNNING") return []
    const hasStep = Array.from(steps.get(id)?.values() ?? []).some(({ epoch }) => epoch === run.epoch)
    const { until } = lease
    return [{ run, losses: crashes.get(id) ?? 0, hasStep, until, endsInMillis: until - millis }]
  })
}

/** They are nobody's now, or over. */
const letGo = (tables: Tables, held: ReadonlyArray<Held>, maxCrashes: number, at: Moment) => {
  for (const { losses, run, until } of held) {
    tables.crashes.set(run.id, losses)
    tables.leases.set(run.id, { worker: null, until: Math.min(until, at.millis) })
    const isOver = losses >= maxCrashes
    setRun(tables, isOver ? givenUp(run, maxCrashes, at.at) : { ...run, updatedAt: at.at })
  }
  const over = held.filter(({ losses }) => losses >= maxCrashes)
  return Effect.as(
    Effect.forEach(over, ({ run }) => Metrics.countEnds(kindOf(run), "FAILED"), { discard: true }),
    over.map(({ run }) => run.id)
  )
}

/** Begins what is nobody's, as far as the worker may. */
const begin = (
  tables: Tables,
  { limit, ...claimant }: Claimant & { readonly limit: number },
  at: Moment
): ReadonlyArray<StoredRun> => {
  const nobodys = heldBy(tables, null, at)
  const restedSince = at.at.getTime() - restMillis(claimant.leaseMillis)
  const waiting = nobodys
    .filter(({ run }) => kindOf(run) === (claimant.kind ?? "task"))
    .filter(({ losses, run }) => losses < aloneFrom || run.updatedAt.getTime() <= restedSince)
    .sort((a, b) => a.losses - b.losses || a.until - b.until || inOrder("createdAt")(a.run, b.run))
    .slice(0, limit)
  const lowest = Math.min(...nobodys.map(({ losses }) => losses))
  return mayBegin({ held: heldBy(tables, claimant.worker, at), waiting, lowest })
    .map(({ run }) => start(tables, run, claimant, at))
    .sort(inOrder("createdAt"))
}

/** PENDING again, but for those that are suspect: they are nobody's. */
const handBack = (tables: Tables, held: ReadonlyArray<Held>, at: Moment): void => {
  for (const { hasStep, losses, run } of held) {
    tables.crashes.set(run.id, keepLosses({ hasStep, losses }))
    if (!hasStep && losses >= suspectFrom) {
      tables.leases.set(run.id, { worker: null, until: at.millis })
    } else {
      tables.leases.delete(run.id)
      const pending: StoredRun = { ...run, status: "PENDING" }
      tables.runs.set(run.id, pending)
      noteExecution(tables, run, pending, at.at)
    }
  }
}

/** What becomes of runs that lose their worker: another takes them over, or they are handed back. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "takeOver" | "release"> => ({
  takeOver: ({ awayMillis = Number.POSITIVE_INFINITY, ended, maxCrashes, ...claimant }) =>
    Effect.gen(function* () {
      const at = yield* moment
      const { leaseMillis } = claimant
      for (const worker of new Set(Array.from(tables.leases.values(), (lease) => lease.worker))) {
        if (worker === null) continue
        const how = { isOwn: worker === claimant.worker, leaseMillis, maxCrashes, awayMillis }
        const over = yield* letGo(tables, settleLeases(heldBy(tables, worker, at), how), maxCrashes, at)
        if (ended !== undefined && over.length > 0) yield* ended(over)
      }
      return begin(tables, claimant, at)
    }),
  release: (worker, { crashed, executions, kind = "task", maxCrashes }) =>
    Effect.flatMap(moment, (at) => {
      const held = heldBy(tables, worker, at)
      if (crashed) return Effect.asVoid(letGo(tables, loseWorker(held, maxCrashes), maxCrashes, at))
      const isNamed = ({ epoch, id }: { readonly id: RunId; readonly epoch: number }) =>
        executions?.some((execution) => execution.id === id && execution.epoch === epoch) ?? true
      handBack(
        tables,
        held.filter(({ run }) => kindOf(run) === kind && isNamed(run)),
        at
      )
      return Effect.void
    })
})
