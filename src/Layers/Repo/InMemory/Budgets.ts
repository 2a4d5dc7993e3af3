import {
  addSpending,
  type Budget,
  monthOf,
  noBudget,
  nothingSpent,
  type Reached,
  reachedOfMonth,
  type Spending,
  type Standing
} from "../../../Schemas/Budget.ts"
import type { Moment } from "./RunRepo/Moment.ts"
import type { Reservation, Tables } from "./Store.ts"

/** Leases that have ended are renewed so soon where the store was away. */
const graceMillis = 5_000

export const reservationKey = ({ epoch, id }: { readonly id: string; readonly epoch: number }): string =>
  `${id} ${epoch}`

export const budgetOf = ({ budgets }: Pick<Tables, "budgets">, workspaceId: string): Budget =>
  budgets.get(workspaceId) ?? noBudget

/** It can't journal what its call cost any more. */
const isDead = ({ runs }: Tables, { epoch, runId }: Reservation): boolean => {
  const run = runs.get(runId)
  return run?.status !== "RUNNING" || run.epoch !== epoch
}

/** What is lost of a run that goes on is kept by itself, since it counts to the limits of the run. */
export const goesOn = ({ runs }: Tables, { runId }: Reservation): boolean =>
  ["PENDING", "RUNNING", "WAITING_APPROVAL"].includes(runs.get(runId)?.status ?? "")

const isUnderWay = (tables: Tables, held: Reservation, { millis }: Moment): boolean => {
  const lease = tables.leases.get(held.runId)
  return !isDead(tables, held) && lease?.worker != null && lease.until > millis - graceMillis
}

const lossKey = (workspaceId: string, at: Date): string => `${workspaceId} ${monthOf(at)}`

export const loseBudget = ({ losses }: Tables, { held, workspaceId }: Reservation, at: Date): void => {
  const key = lossKey(workspaceId, at)
  losses.set(key, addSpending(losses.get(key) ?? nothingSpent, held))
}

/** What was booked in a month. */
const bookedIn = ({ usage }: Tables, workspaceId: string, month: string): Spending => {
  let booked = nothingSpent
  for (const { at, spent, workspaceId: of } of usage.values()) {
    if (of !== workspaceId || monthOf(at) !== month) continue
    const { costNanos, inputTokens, outputTokens } = spent
    booked = addSpending(booked, { tokens: inputTokens + outputTokens, costNanos: costNanos ?? 0 })
  }
  return booked
}

const sumOf = (held: ReadonlyArray<Reservation>): Spending =>
  held.reduce((sum, each) => addSpending(sum, each.held), nothingSpent)

export const standingOf = (tables: Tables, workspaceId: string, at: Moment): Standing => {
  const held = Array.from(tables.reservations.values()).filter((each) => each.workspaceId === workspaceId)
  const isOpen = (each: Reservation) => isUnderWay(tables, each, at)
  const lost = tables.losses.get(lossKey(workspaceId, at.at)) ?? nothingSpent
  return {
    used: bookedIn(tables, workspaceId, monthOf(at.at)),
    lost: addSpending(lost, sumOf(held.filter((each) => !isOpen(each)))),
    reserved: sumOf(held.filter(isOpen))
  }
}

export const reachedIn = (tables: Tables, workspaceId: string, at: Moment): Reached | undefined =>
  tables.budgets.has(workspaceId)
    ? reachedOfMonth(budgetOf(tables, workspaceId), standingOf(tables, workspaceId, at))
    : undefined
