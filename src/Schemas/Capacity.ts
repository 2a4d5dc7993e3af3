import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { RunId } from "./Ids.ts"

/** The place of an execution: until when its run is this node's, and whether it has to stop. */
export interface Place {
  readonly epoch: number
  /** By the monotonic clock of the process, in milliseconds. */
  readonly until: number
  readonly isLost: boolean
}

/** What a node executes of one kind of runs, and how much more it may take. */
export interface Capacity {
  /** How many executions there may be at once. */
  readonly most: number
  /** For runs that are about to be taken. */
  readonly reserved: number
  readonly held: HashMap.HashMap<RunId, Place>
  readonly isDraining: boolean
}

/** Which execution of which run: a run that was lost and is executed again has a later epoch. */
export interface ExecutionKey {
  readonly id: RunId
  readonly epoch: number
}

export const idle = (most: number): Capacity => ({
  most,
  reserved: 0,
  held: HashMap.empty(),
  isDraining: false
})

/** How many runs may be taken now: none while draining. */
export const free = ({ held, isDraining, most, reserved }: Capacity): number =>
  isDraining ? 0 : Math.max(0, most - HashMap.size(held) - reserved)

/** Sets up to `wanted` aside; `granted` of them. */
export const reserve = (
  capacity: Capacity,
  wanted: number
): { readonly granted: number; readonly capacity: Capacity } => {
  const granted = Math.min(wanted, free(capacity))
  return { granted, capacity: { ...capacity, reserved: capacity.reserved + granted } }
}

/** Gives back what was reserved and is not needed. */
export const giveBack = (capacity: Capacity, count: number): Capacity => ({
  ...capacity,
  reserved: capacity.reserved - count
})

/** Fills `reserved` reserved places with these runs, which are ours until then; the others fall free. */
export const occupy = (
  capacity: Capacity,
  runs: ReadonlyArray<ExecutionKey>,
  { reserved, until }: { readonly reserved: number; readonly until: number }
): Capacity => ({
  ...giveBack(capacity, reserved),
  held: HashMap.setMany(
    capacity.held,
    runs.map(({ epoch, id }) => [id, { epoch, until, isLost: false }] as const)
  )
})

/** The place of this very execution, if it has one: a run that was lost may have one again, of a later one. */
export const placeOf = ({ held }: Capacity, { epoch, id }: ExecutionKey): Place | undefined => {
  const found = Option.getOrUndefined(HashMap.get(held, id))
  return found?.epoch === epoch ? found : undefined
}

const change = (capacity: Capacity, execution: ExecutionKey, by: Partial<Place>): Capacity => {
  const found = placeOf(capacity, execution)
  return found === undefined
    ? capacity
    : { ...capacity, held: HashMap.set(capacity.held, execution.id, { ...found, ...by }) }
}

/** Prolongs the lease of an execution that is still held. */
export const renew = (capacity: Capacity, execution: ExecutionKey, until: number): Capacity =>
  change(capacity, execution, { until })

/** The execution has to stop; its place falls free when it has. */
export const lose = (capacity: Capacity, execution: ExecutionKey): Capacity =>
  change(capacity, execution, { isLost: true })

/** The execution has ended. */
export const vacate = (capacity: Capacity, execution: ExecutionKey): Capacity =>
  placeOf(capacity, execution) === undefined
    ? capacity
    : { ...capacity, held: HashMap.remove(capacity.held, execution.id) }

/** Nothing new is taken any more. */
export const drain = (capacity: Capacity): Capacity => ({ ...capacity, isDraining: true })

/** All that is held. */
export const executions = ({ held }: Capacity): ReadonlyArray<ExecutionKey> =>
  Array.from(HashMap.entries(held), ([id, { epoch }]) => ({ id, epoch }))

/** Whether this very execution is surely this node's at `at`. */
export const isOurs = (capacity: Capacity, execution: ExecutionKey, at: number): boolean => {
  const place = placeOf(capacity, execution)
  return place !== undefined && !place.isLost && at < place.until
}

/** What is held and was not told to stop, although its lease has ended at `at`. */
export const expired = ({ held }: Capacity, at: number): ReadonlyArray<ExecutionKey> =>
  Array.from(HashMap.entries(held)).flatMap(([id, { epoch, isLost, until }]) =>
    until <= at && !isLost ? [{ id, epoch }] : []
  )

/**
 * Until when a run is this node's whose lease was asked for at `since`: less than the lease, so that it is told to
 * stop before another begins. What it still writes then is refused by its epoch.
 */
export const oursUntil = (since: number, leaseMillis: number): number => since + leaseMillis * 0.9

/**
 * How often leases are renewed: twice may fail, and what was cancelled is noticed in 5 s also where no signal came,
 * however long a lease is.
 */
export const renewMillis = (leaseMillis: number): number => Math.min(leaseMillis / 3, 5_000)

/** How often is looked for leases that have ended: half of what is left of them then. */
export const expireMillis = (leaseMillis: number): number => Math.min(500, leaseMillis / 20)

/**
 * How long a session may keep what a transaction of its has locked and say nothing: a node that is stopped in one holds up
 * all who start something of the same owner. Half of what these may wait for the database in all (`waitMillis`), and half
 * of a lease: what waits is not renewed meanwhile.
 */
export const silentMillis = (leaseMillis: number, waitMillis: number): number =>
  Math.ceil(Math.min(leaseMillis, waitMillis) / 2)

/**
 * How many runs one query takes at most: it holds their places meanwhile, and what is made here in the meantime
 * is to begin here. It is repeated as long as it fills them.
 */
export const queryLimit = (most: number, kind: "task" | "turn"): number =>
  Math.ceil(most / (kind === "task" ? 2 : 8))
