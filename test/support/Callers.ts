import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { notDecided, type StoredApproval } from "../../src/Schemas/Approval.ts"
import type { Unavailable } from "../../src/Schemas/Errors.ts"
import type {
  AgentId,
  ApprovalId,
  ConversationId,
  MessageId,
  RunId,
  UserId,
  WorkspaceId
} from "../../src/Schemas/Ids.ts"
import type { RunKind, StoredRun } from "../../src/Schemas/Run.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ApprovalRepo } from "../../src/Services/ApprovalRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { RemovalRepo } from "../../src/Services/RemovalRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { type Execution, RunRepo } from "../../src/Services/RunRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import { type Acknowledged, endOf } from "./Acknowledged.ts"
import { append } from "./Appended.ts"
import type { Backend } from "./Backends.ts"
import { below, isLucky, pick } from "./Chance.ts"
import { makeAgent, makeConversation, newId, newMessage, newRun } from "./Fixtures.ts"
import * as HeldRuns from "./HeldRuns.ts"
import { eventOf } from "./HeldRuns.ts"
import type { Bounds } from "./Invariants.ts"

/** What all callers know of. */
export interface World {
  readonly acknowledged: Acknowledged
  readonly bounds: Bounds
  readonly workspaces: ReadonlyArray<WorkspaceId>
  readonly userId: UserId
  readonly agents: Array<AgentId>
  readonly goneAgents: Set<AgentId>
  readonly conversations: Array<{ readonly id: ConversationId; readonly workspaceId: WorkspaceId }>
  readonly runs: Array<RunId>
  readonly asked: Array<ApprovalId>
}

const leaseMillis = 200
const maxCrashes = 3
const recent = 60

const kind = Effect.map(isLucky(60), (isTask): RunKind => (isTask ? "task" : "turn"))

type Operation = Effect.Effect<boolean | undefined, Unavailable, Backend>

/** What one caller does: true when the store did it, false when it refused or had nothing to do. */
export const makeOperations = Effect.fnUntraced(function* (world: World, worker: string) {
  const { acknowledged, agents, asked, bounds, conversations, goneAgents, userId, workspaces } = world
  const runs = yield* RunRepo
  const removals = yield* RemovalRepo
  const [approvals, chats, events] = [yield* ApprovalRepo, yield* ConversationRepo, yield* RunEventRepo]
  const [agentRepo, journal, transaction] = [yield* AgentRepo, yield* RunJournal, yield* Transaction]
  const { perOwner, perWorkspace, turnsPerWorkspace } = bounds
  const shares = { task: { perOwner, perWorkspace }, turn: { perOwner, perWorkspace: turnsPerWorkspace } }
  const { held, hold, write } = yield* HeldRuns.make(worker, acknowledged)

  const outcomeOf = ({ epoch, id }: Execution) =>
    Effect.map(isLucky(70), (isGood) =>
      isGood
        ? ({ status: "COMPLETED", output: `${id} by ${worker} ${epoch}`, usage: noUsage } as const)
        : ({ status: "FAILED", error: `${id} by ${worker} ${epoch}`, code: "no", usage: noUsage } as const)
    )
  const end = (isTurn: boolean) =>
    write(
      (execution, batches) =>
        Effect.gen(function* () {
          const outcome = yield* outcomeOf(execution)
          const said = outcome.status === "COMPLETED" ? outcome.output : outcome.error
          const at = new Date()
          const finished = runs.finish(execution, outcome, { at, firstTokenAt: null }, batches)
          const { turn } = execution
          const answered = Effect.gen(function* () {
            const isOurs = yield* finished
            if (turn === null || !isOurs || outcome.status === "FAILED") return isOurs
            const reply = { id: turn.replyId, role: "ASSISTANT", content: said, createdAt: at } as const
            return yield* chats.addReply(turn.conversationId, reply, { parts: [], usage: noUsage })
          })
          const isOurs = yield* isTurn ? transaction.atomically(answered) : finished
          if (isOurs) acknowledged.end(execution.id, endOf(outcome.status, said))
          return isOurs
        }),
      { isLast: true, suits: ({ turn }) => (turn !== null) === isTurn }
    )

  const insert = (isStarted: boolean) =>
    Effect.gen(function* () {
      const agentId = yield* pick(agents)
      const run = yield* newRun(yield* pick(workspaces), { agentId, createdAt: new Date() })
      acknowledged.made(run.id, null)
      const start = isStarted ? { worker, leaseMillis, ...shares.task } : undefined
      const isRunning = yield* Effect.catchTags(runs.insert(run, start, [[eventOf(1)]]), {
        BudgetExceeded: (refused) => Effect.die(refused),
        PlanLimitExceeded: (refused) => Effect.die(refused),
        // An agent that is gone takes no runs.
        ReferenceGone: (gone) => (goneAgents.has(agentId) ? Effect.succeed(undefined) : Effect.die(gone))
      })
      if (isRunning === undefined) return false
      world.runs.push(run.id)
      acknowledged.batch(run.id, [eventOf(1)])
      if (isRunning) hold({ ...run, epoch: 1 }, 2)
      return !isStarted || isRunning
    })

  const begin = Effect.gen(function* () {
    const { id: conversationId, workspaceId } = yield* pick(conversations)
    const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
    const run = yield* newRun(workspaceId, { id: yield* newId<RunId>("turn"), turn, createdAt: new Date() })
    const start = (yield* isLucky(60)) ? { worker, leaseMillis, ...shares.turn } : undefined
    acknowledged.made(run.id, conversationId)
    const message = yield* newMessage({ createdAt: new Date() })
    const begun = yield* transaction.atomically(
      Effect.gen(function* () {
        if (!(yield* chats.claimTurn(conversationId, run.id))) return undefined
        yield* chats.addMessage(conversationId, message)
        return { isRunning: yield* Effect.orDie(runs.insert(run, start, [[eventOf(1)]])) }
      })
    )
    if (begun === undefined) return false
    world.runs.push(run.id)
    acknowledged.batch(run.id, [eventOf(1)])
    if (begun.isRunning) hold({ ...run, epoch: 1 }, 2)
    return true
  })

  const newCall = Effect.fnUntraced(function* (runId: RunId) {
    const id = yield* newId<ApprovalId>("approval")
    const call: StoredApproval = {
      id,
      workspaceId: yield* pick(workspaces),
      runId,
      toolCallId: id,
      tool: "remember",
      connector: null,
      address: null,
      description: null,
      arguments: {},
      fingerprint: "f",
      status: "PENDING",
      reason: null,
      decidedBy: null,
      decidedAt: null,
      createdAt: new Date(),
      expiresAt: new Date(Date.now() + ((yield* isLucky(40)) ? 100 : 60_000))
    }
    return call
  })

  const takeUp = (taken: ReadonlyArray<StoredRun>) => {
    for (const run of taken) hold(run)
    return taken.length > 0
  }

  const operations = {
    insert: insert(false),
    start: insert(true),
    begin,
    claim: Effect.gen(function* () {
      const chosen = yield* kind
      const claimant = { worker, kind: chosen, leaseMillis, limit: 1 + (yield* below(4)) }
      return takeUp(yield* runs.claim({ ...claimant, ...shares[chosen] }))
    }),
    takeOver: Effect.gen(function* () {
      const claimant = { worker, kind: yield* kind, leaseMillis, maxCrashes, limit: 1 + (yield* below(3)) }
      return takeUp(yield* runs.takeOver(claimant))
    }),
    record: write((execution, batches) =>
      Effect.gen(function* () {
        const index = yield* below(5)
        const text = `${index} by ${worker} ${execution.epoch}`
        const step = { type: "model", text, toolCalls: [], usage: noUsage } as const
        const isKept = yield* journal.record(execution, index, step, batches)
        if (isKept) acknowledged.step(execution.id, index, text)
        return isKept
      })
    ),
    append: write((execution, batches) => append(events, execution, batches, new Date())),
    renew: Effect.gen(function* () {
      const { renewed } = yield* runs.renew(worker, held, leaseMillis)
      return renewed.size > 0
    }),
    finish: end(false),
    answer: end(true),
    park: write(
      (execution, batches) =>
        Effect.gen(function* () {
          const calls = yield* Effect.replicateEffect(newCall(execution.id), 1 + (yield* below(2)))
          const isParked = yield* approvals.park(execution, calls, batches)
          if (isParked && !execution.isOver) asked.push(...calls.map(({ id }) => id))
          return isParked
        }),
      { isLast: true }
    ),
    decide: Effect.gen(function* () {
      if (asked.length === 0) return false
      const status = (yield* isLucky(50)) ? "APPROVED" : "REJECTED"
      const decision = { status, reason: null, decidedBy: userId, decidedAt: new Date() } as const
      return yield* approvals.decide(yield* pick(asked.slice(-recent)), decision)
    }),
    expire: Effect.gen(function* () {
      const ended = yield* approvals.expire(20)
      for (const id of ended) acknowledged.end(id, endOf("FAILED", notDecided))
      return ended.length > 0
    }),
    cancel: Effect.gen(function* () {
      if (world.runs.length === 0) return false
      const id = yield* pick(world.runs.slice(-recent))
      const isDone = yield* runs.cancel(id, new Date())
      if (isDone) acknowledged.end(id, endOf("CANCELLED", null))
      return isDone
    }),
    release: Effect.gen(function* () {
      const released = yield* kind
      const ofKind = held.filter(({ turn }) => (turn === null) === (released === "task"))
      const { renewed } = yield* runs.renew(worker, ofKind, leaseMillis)
      yield* runs.release(worker, { kind: released, crashed: yield* isLucky(50), maxCrashes })
      return renewed.size > 0
    }),
    removeConversation: Effect.gen(function* () {
      const gone = yield* pick(conversations)
      acknowledged.removed(gone.id)
      const removed = yield* chats.remove(gone.id)
      const { workspaceId } = gone
      const { id } = yield* Effect.orDie(makeConversation(workspaceId, { ownerId: userId }))
      const place = conversations.indexOf(gone)
      if (place >= 0) conversations[place] = { id, workspaceId }
      return Option.isSome(removed)
    }),
    removeAgent: Effect.gen(function* () {
      const gone = yield* pick(agents)
      goneAgents.add(gone)
      const isRemoved = yield* agentRepo.remove(gone)
      const { id } = yield* Effect.orDie(makeAgent(yield* pick(workspaces)))
      const place = agents.indexOf(gone)
      if (place >= 0) agents[place] = id
      return isRemoved
    }),
    letGo: Effect.gen(function* () {
      const pending = yield* removals.pending(recent)
      if (pending.length === 0) return false
      return (yield* removals.advance(yield* pick(pending), 1 + (yield* below(5)))) > 0
    }),
    prune: Effect.gen(function* () {
      const eventsBefore = new Date(Date.now() - bounds.eventMillis)
      const journalsBefore = new Date(Date.now() - bounds.journalMillis)
      return (yield* runs.prune({ eventsBefore, journalsBefore, limit: 30 })) > 0
    })
  }
  return operations satisfies Record<string, Operation> as Record<keyof typeof operations, Operation>
})
