import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Remote from "../../../src/Layers/Repo/Postgres/Remote.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { MessageId, RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { RunKind } from "../../../src/Schemas/Run.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { minute } from "../../contract/RunSubject.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeConversation, makeUser, makeWorkspaceOf } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { newRun } from "./RunNodes.ts"

/** A node as it is in production, but that it waits much longer for the database than its sessions may be silent. */
const makeNode = Effect.fnUntraced(function* (url: string) {
  const settings = { leaseMillis: 1_000, databaseTimeoutMillis: 600_000 }
  const remote = Layer.provide(
    Remote.layer({ url: Redacted.make(url) }),
    Layer.succeed(Settings, { ...Settings.defaults, ...settings })
  )
  return Effect.provideContext(yield* Layer.build(layerNode(Layer.fresh(remote), settings)))
})

const start = Effect.fnUntraced(function* (workspaceId: WorkspaceId, kind: RunKind) {
  const run = newRun(workspaceId)
  const claimant = { worker: "w", kind, leaseMillis: minute, perWorkspace: 8, perOwner: 32 }
  if (kind === "task") return yield* (yield* RunRepo).insert(run, claimant)
  const { id: conversationId } = yield* makeConversation(workspaceId)
  const turn = { conversationId, replyId: `msg_${run.id}` as MessageId }
  return yield* (yield* RunRepo).insert({ ...run, id: `turn_${run.id}` as RunId, turn }, claimant)
})

const suite = () =>
  it.live.each<RunKind>(["task", "turn"])(
    "a node that is stopped in the middle of a transaction keeps nobody from starting a %s of the same owner",
    (kind) =>
      Effect.gen(function* () {
        const url = yield* Postgres.migratedDatabase
        const [onStopped, onOther] = [yield* makeNode(url), yield* makeNode(url)]
        const { id: owner } = yield* onOther(makeUser)
        const [one, two] = [yield* onOther(makeWorkspaceOf(owner)), yield* onOther(makeWorkspaceOf(owner))]
        const [isStopped, wakesUp] = [yield* Latch.make(false), yield* Latch.make(false)]
        let id: RunId | undefined
        const stopped = yield* Effect.gen(function* () {
          const runs = yield* RunRepo
          const run = newRun(one)
          id = run.id
          yield* runs.insert(run)
          yield* start(one, kind)
          yield* isStopped.open
          yield* wakesUp.await
          return yield* runs.find(run.id)
        }).pipe(
          (work) => Effect.flatMap(Transaction, ({ atomically }) => atomically(work)),
          onStopped,
          Effect.flip,
          Effect.forkChild
        )
        yield* isStopped.await
        // In the same workspace, and in another.
        assert.deepStrictEqual(yield* onOther(Effect.all([start(one, kind), start(two, kind)])), [true, true])
        yield* wakesUp.open
        assert.instanceOf(yield* Fiber.join(stopped), Unavailable)
        const undone = Effect.flatMap(RunRepo, (runs) => runs.find(id ?? assert.fail()))
        assert.deepStrictEqual(yield* onOther(undone), Option.none())
      })
  )

const name = "sessions that say nothing"
describe.skipIf(!Postgres.hasPostgres)(Postgres.hasPostgres ? name : Postgres.skipped(name), suite)
