import { assert, describe, it } from "@effect/vitest"
import { loseWorker, mayBegin } from "../../src/Schemas/RunLoss.ts"

const maxCrashes = 4

/** Numbers from 0 to 1, the same for the same seed. */
const chance = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Work {
  readonly name: string
  readonly kind: "task" | "turn"
  readonly steps: number
  /** Whether its next step kills whoever performs it. */
  readonly isDeadly: (now: Work) => boolean
  /** When it is submitted. */
  readonly from: number
  status: "waits" | "held" | "nobody's" | "COMPLETED" | "FAILED"
  node: number
  done: number
  losses: number
  hasStep: boolean
  kills: number
}

const work = (name: string, given: Partial<Work> = {}): Work => ({
  name,
  kind: "task",
  steps: 3,
  isDeadly: () => false,
  from: 0,
  status: "waits",
  node: -1,
  done: 0,
  losses: 0,
  hasStep: false,
  kills: 0,
  ...given
})

interface World {
  readonly works: ReadonlyArray<Work>
  readonly nodes: number
  /** For each kind on each node. */
  readonly places: number
  readonly random: () => number
}

const isOver = ({ status }: Work) => status === "COMPLETED" || status === "FAILED"

const heldBy = ({ works }: World, node: number) =>
  works.filter((run) => run.status === "held" && run.node === node)

/** A node takes up what is nobody's, and then what waits. */
const take = (world: World, node: number, now: number): void => {
  const kinds = world.random() < 0.5 ? (["task", "turn"] as const) : (["turn", "task"] as const)
  for (const kind of kinds) {
    const held = heldBy(world, node)
    const free = world.places - held.filter((run) => run.kind === kind).length
    const nobodys = world.works.filter(({ status }) => status === "nobody's")
    const waiting = nobodys
      .filter((run) => run.kind === kind)
      .sort((a, b) => a.losses - b.losses)
      .slice(0, free)
    const lowest = Math.min(...nobodys.map(({ losses }) => losses))
    const taken = mayBegin({ held, waiting, lowest })
    const fresh = world.works
      .filter((run) => run.status === "waits" && run.from <= now && run.kind === kind)
      .slice(0, free - taken.length)
    for (const run of [...taken, ...fresh]) Object.assign(run, { status: "held", node, hasStep: false })
  }
}

/** A node dies with all that it holds; it is back at once. */
const die = (world: World, node: number): void => {
  const held = heldBy(world, node)
  for (const [index, { losses }] of loseWorker(held, maxCrashes).entries()) {
    const status = losses >= maxCrashes ? "FAILED" : "nobody's"
    Object.assign(held[index] ?? assert.fail(), { losses, status })
  }
}

const perform = (world: World, node: number): void => {
  const shuffled = heldBy(world, node)
    .map((run) => ({ run, place: world.random() }))
    .sort((a, b) => a.place - b.place)
  for (const { run } of shuffled) {
    if (world.random() < 0.7) continue
    if (run.isDeadly(run)) {
      run.kills++
      die(world, node)
      return
    }
    run.done++
    run.hasStep = true
    if (run.done === run.steps) run.status = "COMPLETED"
  }
}

const live = (world: World): void => {
  for (let now = 0; now < 5_000 && !world.works.every(isOver); now++) {
    for (let node = 0; node < world.nodes; node++) {
      if (world.random() < 0.8) take(world, node, now)
      perform(world, node)
    }
  }
}

/** Innocent runs among which are these. */
const worldOf = (seed: number, guilty: (random: () => number) => ReadonlyArray<Work>): World => {
  const random = chance(seed)
  const below = (end: number) => Math.floor(random() * end)
  const works = Array.from({ length: 5 + below(30) }, (_, n) =>
    work(`innocent ${n}`, { kind: random() < 0.7 ? "task" : "turn", steps: 1 + below(5) })
  )
  for (const run of guilty(random)) works.splice(below(works.length), 0, run)
  return { works, nodes: 1 + below(3), places: 2 + below(16), random }
}

/** A step that is deadly each time, among those that were there from the beginning or not. */
const poison = (count: number) => (random: () => number) =>
  Array.from({ length: count }, (_, n) => {
    const deadly = Math.floor(random() * 4)
    const from = random() < 0.7 ? 0 : Math.floor(random() * 40)
    const kind = random() < 0.7 ? "task" : "turn"
    return work(`guilty ${n}`, { kind, from, steps: 9, isDeadly: ({ done }) => done === deadly })
  })

const seeds = Array.from({ length: 400 }, (_, seed) => seed)
const lostInnocents = ({ works }: World) =>
  works.filter(({ name, status }) => name.startsWith("innocent") && status !== "COMPLETED")

describe("Runs that kill their process", () => {
  it.each([1, 2])("end within five crashes, %i of them, and all others complete", (count) => {
    for (const seed of seeds) {
      const world = worldOf(seed, poison(count))
      live(world)
      assert.deepStrictEqual(lostInnocents(world), [], `seed ${seed}`)
      for (const { kills, name, status } of world.works.filter(({ name }) => name.startsWith("guilty"))) {
        assert.strictEqual(status, "FAILED", `${name}, seed ${seed}`)
        assert.isAtMost(kills, 5, `${name}, seed ${seed}`)
      }
    }
  })

  it("take no other with them, if they finish a step each time before", () => {
    for (const seed of seeds) {
      const world = worldOf(seed, () => [work("guilty", { steps: 50, isDeadly: ({ hasStep }) => hasStep })])
      live(world)
      assert.deepStrictEqual(lostInnocents(world), [], `seed ${seed}`)
    }
  })
})

describe("A process that is killed again and again, before a run has finished a step", () => {
  const killsUntilOneIsGivenUp = (count: number) => {
    const works = Array.from({ length: count }, (_, n) => work(`innocent ${n}`))
    const world = { works, nodes: 1, places: count, random: chance(count) }
    let kills = 0
    for (; works.every(({ status }) => status !== "FAILED"); kills++) {
      take(world, 0, 0)
      die(world, 0)
    }
    return kills
  }

  it("loses a run that is alone in flight the fourth time, and of several one when all were tried alone", () => {
    assert.deepStrictEqual([1, 2, 5, 23].map(killsUntilOneIsGivenUp), [4, 5, 8, 26])
  })
})
