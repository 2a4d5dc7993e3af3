import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Upkeep from "../../../src/Services/Engine/Upkeep.ts"
import { RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { completed } from "../../contract/RunSubject.ts"
import { withSettableClock } from "../../support/Clocks.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import { eventOf } from "../../support/HeldRuns.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"
import { makeNodes, newRun } from "./RunNodes.ts"

const { eventMillis } = Settings.defaults

const suite = () => {
  it.live("a node whose time of day is wrong forgets what is old, and nothing that is not", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(1)
      const ended = Effect.fnUntraced(function* (millisAgo: number) {
        const run = newRun(yield* makeWorkspace)
        const repo = yield* RunRepo
        yield* repo.insert(run, { worker: "w", leaseMillis: 60_000, perWorkspace: 1 }, [[eventOf(1)]])
        const times = { at: new Date(Date.now() - millisAgo), firstTokenAt: null }
        yield* repo.finish({ id: run.id, worker: "w", epoch: 1 }, completed, times)
        return Effect.map((yield* RunEventRepo).read(run.id, 0, 9), ({ length }) => length)
      })
      const [old, young] = yield* on(0, Effect.all([ended(2 * eventMillis), ended(0)]))
      yield* withSettableClock((set) =>
        Effect.gen(function* () {
          yield* set(30 * eventMillis)
          yield* on(0, Upkeep.start)
          yield* eventually(
            Effect.map(old, (left) => left === 0),
            "what is old is forgotten"
          )
        })
      )
      assert.strictEqual(yield* young, 1)
    }).pipe(Effect.scoped)
  )
}

if (Postgres.hasPostgres) describe("A wrong clock", suite)
else describe.skip(Postgres.skipped("A wrong clock"), suite)
