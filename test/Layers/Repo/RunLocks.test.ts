import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { ApprovalId } from "../../../src/Schemas/Ids.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { ApprovalRepo } from "../../../src/Services/ApprovalRepo.ts"
import { type EventWrite, RunEventRepo } from "../../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { type Execution, RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { completed, minute, renewal, times } from "../../contract/RunSubject.ts"
import type { Backend } from "../../support/Backends.ts"
import { at, makeApproval, makeUser, makeWorkspace, newId } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, newRun, whileDone } from "./RunNodes.ts"

const event = { id: 1, event: { event: "status", data: { status: "responding", delta: "late" } } } as const
const step = { type: "model", text: "late", toolCalls: [], usage: noUsage } as const
const heirs = { leaseMillis: minute, limit: 9, maxCrashes: 9 }

type Write = (execution: Execution) => Effect.Effect<boolean, Unavailable, Backend>

const suite = () => {
  it.live.each<[string, Write]>([
    [
      "a step",
      (execution) => Effect.flatMap(RunJournal, (journal) => journal.record(execution, 0, step, [[event]]))
    ],
    [
      "a removal of events",
      (execution) => Effect.flatMap(RunEventRepo, (log) => log.truncate(execution, 1, 9))
    ],
    ["an end", (execution) => Effect.flatMap(RunRepo, (runs) => runs.finish(execution, completed, times))],
    ["a question", (execution) => Effect.flatMap(ApprovalRepo, (repo) => repo.park(execution, []))]
  ])("%s of a former execution comes to nothing while another worker takes its run over", ([, write]) =>
    Effect.gen(function* () {
      const nodes = yield* makeNodes(2)
      const run = newRun(yield* nodes.on(0, makeWorkspace))
      const runs = yield* nodes.on(0, RunRepo)
      yield* runs.insert(run, { worker: "a", leaseMillis: 0, perWorkspace: 1 })
      const takeOver = runs.takeOver({ ...heirs, worker: "b" })
      const { first, late } = yield* whileDone(nodes, takeOver, write({ id: run.id, worker: "a", epoch: 1 }))
      assert.deepStrictEqual([first.length, late], [1, false])
      const journal = yield* nodes.on(0, RunJournal)
      assert.strictEqual((yield* journal.steps(run.id)).size, 0)
      const events = yield* nodes.on(0, RunEventRepo)
      assert.deepStrictEqual(yield* events.read(run.id, 0, 9), [])
    })
  )

  it.live(
    "events of runs whose rows others hold are passed by, and are lost if the run is then another's",
    () =>
      Effect.gen(function* () {
        const nodes = yield* makeNodes(2)
        const { on } = nodes
        const runs = yield* on(0, RunRepo)
        const writes: Array<EventWrite> = []
        for (let n = 0; n < 2; n++) {
          const run = newRun(yield* on(0, makeWorkspace))
          yield* runs.insert(run, { worker: "a", leaseMillis: minute, perWorkspace: 1 })
          const execution = { id: run.id, worker: "a", epoch: 1 }
          writes.push({ execution, batches: [[event]], firstTokenAt: at() })
        }
        const held = writes[0]?.execution.id ?? assert.fail()
        const append = Effect.flatMap(RunEventRepo, (repo) => repo.append(writes))
        const holding = Effect.gen(function* () {
          const sql = yield* PgClient
          yield* sql`update runs set worker = 'b', epoch = 2 where id = ${held}`
          // Answered while the row is held: it does not wait.
          return yield* on(1, append)
        })
        const answer = yield* on(
          0,
          Effect.flatMap(Transaction, (transaction) => transaction.atomically(holding))
        )
        assert.deepStrictEqual(answer, ["busy", "kept"])
        assert.deepStrictEqual(yield* on(1, append), ["lost", "kept"])
        const events = yield* on(0, RunEventRepo)
        const kept = yield* Effect.forEach(writes, ({ execution: { id } }) => events.read(id, 0, 9))
        assert.deepStrictEqual(kept, [[], [event]])
      })
  )

  it.live("leases are renewed while others hold one of their runs, and that one is not lost", () =>
    Effect.gen(function* () {
      const nodes = yield* makeNodes(2)
      const { on } = nodes
      const runs = yield* on(0, RunRepo)
      const made: Array<Pick<Execution, "id" | "epoch">> = []
      for (let n = 0; n < 3; n++) {
        const run = newRun(yield* on(0, makeWorkspace))
        yield* runs.insert(run, { worker: "a", leaseMillis: minute, perWorkspace: 1 })
        made.push({ id: run.id, epoch: 1 })
      }
      const [locked, cancelled, free] = made
      if (locked === undefined || cancelled === undefined || free === undefined) return assert.fail()
      const renew = Effect.flatMap(RunRepo, (repo) => repo.renew("a", made, minute))
      const holding = Effect.gen(function* () {
        const sql = yield* PgClient
        yield* sql`select from runs where id = ${locked.id} for update`
        yield* on(
          1,
          Effect.flatMap(RunRepo, (repo) => repo.cancel(cancelled.id, at()))
        )
        // Answered while the row is held: it does not wait.
        return yield* on(1, renew)
      })
      const answer = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(holding))
      )
      assert.deepStrictEqual(answer, renewal([free.id], [cancelled.id]))
      assert.deepStrictEqual(yield* on(1, renew), renewal([locked.id, free.id], [cancelled.id]))
    })
  )

  it.live("runs are forgotten while others hold one of them, and that one comes later", () =>
    Effect.gen(function* () {
      const { on } = yield* makeNodes(2)
      const runs = yield* on(0, RunRepo)
      const ids: Array<string> = []
      for (let n = 0; n < 3; n++) {
        const run = newRun(yield* on(0, makeWorkspace))
        yield* runs.insert(run)
        assert.isTrue(yield* runs.cancel(run.id, at()))
        ids.push(run.id)
      }
      const runsBefore = new Date(at().getTime() + 1)
      const forget = on(
        1,
        Effect.flatMap(RunRepo, (repo) =>
          repo.prune({ eventsBefore: at(), journalsBefore: at(), runsBefore, limit: 9 })
        )
      )
      const holding = Effect.gen(function* () {
        const sql = yield* PgClient
        yield* sql`select from runs where id = ${ids[1]} for no key update`
        // Answered while the row is held: it does not wait.
        return yield* forget
      })
      const forgotten = yield* on(
        0,
        Effect.flatMap(Transaction, (transaction) => transaction.atomically(holding))
      )
      assert.deepStrictEqual([forgotten, yield* forget, yield* forget], [2, 1, 0])
    })
  )

  it.live("a run goes on after the last decision, also when two are made at once", () =>
    Effect.gen(function* () {
      const nodes = yield* makeNodes(2)
      const { on } = nodes
      const { id: decidedBy } = yield* on(0, makeUser)
      const run = newRun(yield* on(0, makeWorkspace))
      const asked = yield* on(
        0,
        Effect.gen(function* () {
          yield* (yield* RunRepo).insert(run, { worker: "a", leaseMillis: minute, perWorkspace: 9 })
          const like = yield* makeApproval(run.workspaceId)
          const [one, two] = [yield* newId<ApprovalId>("approval"), yield* newId<ApprovalId>("approval")]
          const calls = [one, two].map((id) => ({ ...like, id, toolCallId: id, runId: run.id }))
          assert.isTrue(yield* (yield* ApprovalRepo).park({ id: run.id, worker: "a", epoch: 1 }, calls))
          return { one, two }
        })
      )
      const decide = (id: ApprovalId) =>
        Effect.flatMap(ApprovalRepo, (approvals) =>
          approvals.decide(id, { status: "APPROVED", reason: null, decidedBy, decidedAt: at() })
        )
      const decided = yield* whileDone(nodes, decide(asked.one), decide(asked.two))
      assert.deepStrictEqual(decided, { first: true, late: true })
      const claimed = yield* on(
        0,
        Effect.flatMap(RunRepo, (runs) =>
          runs.claim({ worker: "b", leaseMillis: minute, limit: 9, perWorkspace: 9 })
        )
      )
      assert.deepStrictEqual(
        claimed.map(({ id }) => id),
        [run.id]
      )
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of runs", suite)
else describe.skip(Postgres.skipped("Locks of runs"), suite)
