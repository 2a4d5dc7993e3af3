import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { makeNodes } from "../Layers/Repo/RunNodes.ts"
import * as Acknowledged from "../support/Acknowledged.ts"
import { makeOperations, type World } from "../support/Callers.ts"
import { makeAgent, makeConversation, makeUser, makeWorkspace, makeWorkspaceOf } from "../support/Fixtures.ts"
import * as Invariants from "../support/Invariants.ts"
import * as Postgres from "../support/Postgres.ts"

/** What a failure printed, to make the same calls again; how they interleave is up to the machine. */
const seed = process.env.AGENTD_TEST_SEED ?? String(Date.now())
const seconds = Number(process.env.AGENTD_TEST_SECONDS ?? 20)
const callers = 12
/** How much longer a slow machine gets until each kind of call was done once. */
const mostMoreMillis = 60_000
const bounds: Invariants.Bounds = {
  perWorkspace: 3,
  turnsPerWorkspace: 2,
  perOwner: 4,
  eventMillis: 1_000,
  journalMillis: 3_000
}

/** How often each of them is chosen beside the others. */
const weights = {
  insert: 1,
  start: 5,
  begin: 8,
  claim: 12,
  takeOver: 6,
  record: 14,
  append: 10,
  renew: 6,
  finish: 6,
  answer: 6,
  park: 8,
  decide: 10,
  expire: 3,
  cancel: 4,
  release: 1,
  removeConversation: 2,
  removeAgent: 1,
  letGo: 4,
  prune: 2
}
type Name = keyof typeof weights
const names = Object.keys(weights) as ReadonlyArray<Name>
const chosen = names.flatMap((name) => Array.from({ length: weights[name] }, () => name))
/** Of a former execution they must be refused. */
const fenced: ReadonlyArray<Name> = ["record", "append", "finish", "answer", "park"]

const makeWorld = Effect.gen(function* () {
  const { id: userId } = yield* makeUser
  const ofOne = yield* Effect.replicateEffect(makeWorkspaceOf(userId), 2)
  const workspaces = [...ofOne, yield* makeWorkspace]
  const agents = yield* Effect.forEach(workspaces, (workspaceId) => makeAgent(workspaceId))
  const conversations = yield* Effect.forEach([...workspaces, ...workspaces], (workspaceId) =>
    makeConversation(workspaceId, { ownerId: userId })
  )
  const world: World = {
    acknowledged: Acknowledged.make(bounds.journalMillis),
    bounds,
    workspaces,
    userId,
    agents: agents.map(({ id }) => id),
    goneAgents: new Set(),
    conversations: conversations.map(({ id, workspaceId }) => ({ id, workspaceId })),
    runs: [],
    asked: []
  }
  return world
})

const hold = (problems: ReadonlyArray<string>) =>
  problems.length === 0
    ? Effect.void
    : Effect.sync(() => assert.fail(`seed ${seed}:\n${problems.slice(0, 10).join("\n")}`))

const suite = () => {
  it.live(
    `keep their promises to ${callers} callers at once for ${seconds} s, some of them stale`,
    () =>
      Effect.gen(function* () {
        process.stdout.write(`random calls: AGENTD_TEST_SEED=${seed}\n`)
        const { on } = yield* makeNodes(3)
        const world = yield* on(0, makeWorld)
        const done = new Map<Name, number>()
        const refused = new Map<Name, number>()
        let unavailable = 0
        let looks = 0
        const until = Date.now() + seconds * 1_000
        const isMissing = () => names.some((name) => !done.has(name))

        const call = (n: number) =>
          Effect.gen(function* () {
            const operations = yield* makeOperations(world, `worker ${n}`)
            while (Date.now() < until || (isMissing() && Date.now() < until + mostMoreMillis)) {
              const name =
                chosen[yield* Random.nextIntBetween(0, chosen.length, { halfOpen: true })] ?? "claim"
              const result = yield* world.acknowledged
                .during(operations[name])
                .pipe(Effect.catchTag("Unavailable", () => Effect.sync(() => void unavailable++)))
              if (result === undefined) continue
              const counted = result ? done : refused
              counted.set(name, (counted.get(name) ?? 0) + 1)
            }
          }).pipe(Random.withSeed(`${seed} ${n}`))
        const calls = Effect.forEach(
          Array.from({ length: callers }, (_, n) => n),
          (n) => on(n, call(n)),
          { concurrency: "unbounded", discard: true }
        )
        const look = Effect.flatMap(Invariants.problems(bounds), hold)
        const compare = Effect.flatMap(world.acknowledged.problems, hold)
        const watch = Effect.gen(function* () {
          while (true) {
            yield* look
            if (looks++ % 20 === 0) yield* compare
            yield* Effect.sleep(20)
          }
        })
        yield* Effect.raceFirst(calls, on(0, watch))
        yield* on(0, Effect.andThen(look, compare))

        const sql = yield* on(0, PgClient)
        const [stats] = yield* sql<{ deadlocks: number }>`
          select deadlocks::int from pg_stat_database where datname = current_database()`
        const counted = names.map((name) => `${name} ${done.get(name) ?? 0}/${refused.get(name) ?? 0}`)
        process.stdout.write(
          `random calls (done/refused): ${counted.join(", ")}; ${unavailable} unavailable, ${looks} looks\n`
        )
        assert.strictEqual(stats?.deadlocks, 0, `deadlocks with seed ${seed}`)
        assert.deepStrictEqual(
          names.filter((name) => !done.has(name)),
          [],
          "never done"
        )
        assert.deepStrictEqual(
          fenced.filter((name) => !refused.has(name)),
          [],
          "never refused"
        )
      }),
    seconds * 1_000 + 2 * mostMoreMillis
  )
}

if (Postgres.hasPostgres) describe("Repositories on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Repositories on PostgreSQL"), suite)
