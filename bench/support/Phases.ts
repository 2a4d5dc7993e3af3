import { sleep } from "../../test/support/Durability.ts"
import type { Cluster } from "./Cluster.ts"
import type { Seeded } from "./Seed.ts"

export interface Phase {
  readonly name: string
  readonly about: string
  /** Whether PostgreSQL is stopped, which takes one of our own. */
  readonly stopsDatabase: boolean
  /** How much longer it takes, and how much more there is to do, than in the others. */
  readonly share: number
  /** Makes one fault, or a few that belong together, and leaves everything as it was before. */
  readonly fault: (cluster: Cluster, chance: Chance) => Promise<unknown>
}

interface Chance {
  readonly random: Seeded
  readonly leaseSeconds: number
}

/** Waits a moment, for something that is likely but not certain. */
const soon = async (is: () => boolean, millis: number) => {
  const limit = Date.now() + millis
  while (!is() && Date.now() < limit) await sleep(10)
}

/** Mostly the one that has more to do: there is more to lose. */
const victimOf = ({ pidOf, tools }: Cluster, random: Seeded) => {
  const isFirst = tools.inFlight(pidOf(0)) >= tools.inFlight(pidOf(1))
  return isFirst === random.lucky(80) ? 0 : 1
}

const sigterm: Phase["fault"] = async (cluster, { random }) => {
  await sleep(random.between(500, 1_500))
  await cluster.term(victimOf(cluster, random))
}

const kill: Phase["fault"] = async (cluster, { random }) => {
  await sleep(random.between(500, 1_500))
  const node = victimOf(cluster, random)
  await cluster.kill(node)
  await cluster.start(node)
}

/**
 * Three nodes in a row die, each as soon as it has begun again what the one before it had in flight: none of these
 * runs finishes a step between, and none of them is to blame.
 */
const killThrice: Phase["fault"] = async (cluster, { leaseSeconds }) => {
  const { pidOf, tools } = cluster
  await soon(() => [0, 1].some((node) => tools.inFlight(pidOf(node)) >= 5), 3_000)
  for (let before = 0; before < 3; before++) {
    const begun = (node: number) => tools.inFlight(pidOf(node), before)
    await soon(() => begun(0) + begun(1) > 0, leaseSeconds * 2_000)
    // Whatever it took up with the first.
    await sleep(30)
    const victim = begun(0) >= begun(1) ? 0 : 1
    await cluster.kill(victim)
    await cluster.start(victim)
  }
}

const kills: Phase["fault"] = async (cluster, chance) => {
  await killThrice(cluster, chance)
  await kill(cluster, chance)
}

const freeze: Phase["fault"] = async (cluster, { leaseSeconds, random }) => {
  await sleep(random.between(300, 1_000))
  await cluster.freeze(victimOf(cluster, random), leaseSeconds * 1_300)
}

const cut: Phase["fault"] = (cluster, { random }) => cluster.cut(random.between(2_000, 4_000))

const readOnly: Phase["fault"] = async (cluster, { random }) => {
  await sleep(random.between(500, 2_000))
  await cluster.readOnly(random.between(300, 1_200))
}

const restart: Phase["fault"] = async (cluster, { random }) => {
  await sleep(random.between(1_000, 3_000))
  await cluster.restart(random.pick(["immediate", "fast"]), 0)
}

/** Longer than a lease: nobody has died. */
const outage: Phase["fault"] = async (cluster, { leaseSeconds, random }) => {
  await sleep(random.between(1_000, 2_000))
  await cluster.restart(random.pick(["immediate", "fast"]), leaseSeconds * 1_300)
}

const hideTools: Phase["fault"] = async (cluster, { random }) => {
  // Time to find them, and to call some.
  await sleep(random.between(2_000, 3_000))
  await cluster.hideTools(random.between(1_000, 2_500))
}

/** Each of them once, in an order of the seed, then each again. */
const mixed = (faults: ReadonlyArray<Phase["fault"]>): Phase["fault"] => {
  const left: Array<Phase["fault"]> = []
  return async (cluster, chance) => {
    if (left.length === 0) left.push(...faults)
    const [fault] = left.splice(chance.random.between(0, left.length - 1), 1)
    await fault?.(cluster, chance)
  }
}

const phase = (
  name: string,
  about: string,
  fault: Phase["fault"],
  { share = 1, stopsDatabase = false } = {}
): Phase => ({ name, about, fault, share, stopsDatabase })

/** In the order in which they run. */
export const phases = (canStopDatabase: boolean): ReadonlyArray<Phase> => [
  phase("sigterm", "nodes are told to stop, and started again", sigterm),
  phase("kills", "kill -9, one by one and three in a row", kills),
  phase("freezes", "SIGSTOP for longer than the lease", freeze),
  phase("cuts", "one in ten exchanges with PostgreSQL cut", cut),
  phase("readonly", "sessions of PostgreSQL become read-only, and stay so", readOnly),
  phase("restarts", "PostgreSQL restarted, immediate and fast", restart, { stopsDatabase: true }),
  phase("outages", "PostgreSQL away for longer than the lease", outage, { stopsDatabase: true }),
  phase("tools", "the MCP server takes no connections", hideTools),
  phase(
    "mixed",
    "all of it",
    mixed([sigterm, kill, freeze, cut, readOnly, hideTools, ...(canStopDatabase ? [restart] : [])]),
    { share: 2 }
  )
]
