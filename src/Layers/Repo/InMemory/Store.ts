import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { StoredAgent } from "../../../Schemas/Agent.ts"
import type { StoredApproval } from "../../../Schemas/Approval.ts"
import type { StoredAuditEntry } from "../../../Schemas/Audit.ts"
import type { Budget, Spending } from "../../../Schemas/Budget.ts"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import type { StoredHealth } from "../../../Schemas/ConnectorHealth.ts"
import type { Message, StoredConversation, Trace } from "../../../Schemas/Conversation.ts"
import type { Backlog, StoredFire } from "../../../Schemas/CronFire.ts"
import type { StoredCronJob } from "../../../Schemas/CronJob.ts"
import { Unavailable } from "../../../Schemas/Errors.ts"
import type { StoredIdempotencyKey } from "../../../Schemas/Idempotency.ts"
import type { CronJobId, RunId, UserId, WorkspaceId } from "../../../Schemas/Ids.ts"
import type { JournalStep } from "../../../Schemas/Journal.ts"
import type { MemoryDetail } from "../../../Schemas/MemoryEntry.ts"
import type { Project } from "../../../Schemas/Project.ts"
import type { StoredProviderKey } from "../../../Schemas/ProviderKey.ts"
import { isTerminal, type RunKind, type StoredRun } from "../../../Schemas/Run.ts"
import type { EventBatch } from "../../../Schemas/RunEvent.ts"
import type { KeptExecution } from "../../../Schemas/RunTimes.ts"
import type { SignInLink } from "../../../Schemas/Session.ts"
import type { Token } from "../../../Schemas/Token.ts"
import type { TurnInput } from "../../../Schemas/TurnInput.ts"
import type { Spent } from "../../../Schemas/Usage.ts"
import type { UserRecord } from "../../../Schemas/User.ts"
import type { Invitation, Role, Workspace } from "../../../Schemas/Workspace.ts"
import { DatabaseHealth } from "../../../Services/DatabaseHealth.ts"
import type { Execution } from "../../../Services/RunRepo.ts"
import { Settings } from "../../../Services/Settings.ts"
import { Transaction } from "../../../Services/Transaction.ts"
import * as Entries from "../Entries.ts"
import { changedIn, keepEntries } from "./AuditEntries.ts"
import { emptyWebhookTables } from "./WebhookTables.ts"

/** Until when a worker holds a run, in milliseconds of the monotonic clock; null if it is nobody's. */
export interface Lease {
  readonly worker: string | null
  readonly until: number
}

export interface Membership {
  readonly workspaceId: WorkspaceId
  readonly userId: UserId
  readonly role: Role
  readonly createdAt: Date
  readonly invitationId: UserId | null
}

export interface KeptStep {
  readonly step: JournalStep
  readonly epoch: number
  readonly workedMillis: number
  readonly at: Date
}

export interface CountedStep extends Pick<StoredRun, "workspaceId" | "agentId" | "cronJobId" | "answeredBy"> {
  readonly kind: RunKind
  readonly at: Date
  readonly isFirst: boolean
  readonly spent: Spent
}

/** What an execution holds of a budget for the call that it makes. */
export interface Reservation {
  readonly workspaceId: WorkspaceId
  readonly runId: RunId
  readonly epoch: number
  readonly held: Spending
  /** By the monotonic clock. */
  readonly madeAt: number
}

const emptyTables = () => ({
  users: new Map<string, UserRecord>(),
  /** Of users who are gone, the ids. */
  gone: new Map<string, Date>(),
  tokens: new Map<string, Token>(),
  workspaces: new Map<string, Workspace>(),
  /** Who made each workspace. */
  makers: new Map<string, UserId>(),
  members: new Map<string, Membership>(),
  invitations: new Map<string, Invitation & { readonly workspaceId: WorkspaceId }>(),
  projects: new Map<string, Project>(),
  providerKeys: new Map<string, StoredProviderKey>(),
  agents: new Map<string, Omit<StoredAgent, "providerKey">>(),
  conversations: new Map<string, Omit<StoredConversation, "agent">>(),
  messages: new Map<string, ReadonlyArray<Message>>(),
  traces: new Map<string, Trace>(),
  turns: new Map<string, RunId>(),
  runs: new Map<string, StoredRun>(),
  /** What turns are asked, which is read apart from them. */
  inputs: new Map<string, TurnInput>(),
  signInLinks: new Map<string, SignInLink>(),
  leases: new Map<string, Lease>(),
  crashes: new Map<string, number>(),
  /** By workspace and kind of runs: the place of its last start among all. */
  served: new Map<string, number>(),
  steps: new Map<string, ReadonlyMap<number, KeptStep>>(),
  /** By epoch, why runs were executed again. */
  executions: new Map<string, ReadonlyMap<number, KeptExecution>>(),
  /** What runs had used that COMPLETED or FAILED. */
  spent: new Map<string, Spent>(),
  /** What was counted, by run and step: it outlives them. */
  usage: new Map<string, CountedStep>(),
  events: new Map<string, ReadonlyArray<EventBatch>>(),
  pruned: new Map<string, number>(),
  approvals: new Map<string, StoredApproval>(),
  cronJobs: new Map<string, Omit<StoredCronJob, "agent">>(),
  cronFires: new Map<string, StoredFire & { readonly cronJobId: CronJobId }>(),
  cronBacklogs: new Map<string, Backlog>(),
  /** Slots that wait to be made up. */
  cronBackfills: new Map<string, { readonly cronJobId: CronJobId; readonly scheduledAt: Date }>(),
  /** When each job of those is looked at next; at once where it was busy and is no more. */
  cronBackfillLooks: new Map<string, { readonly at: Date; readonly wasBusy: boolean }>(),
  connectors: new Map<string, StoredConnector>(),
  connectorHealth: new Map<string, StoredHealth>(),
  memoryEntries: new Map<string, MemoryDetail>(),
  auditEntries: new Map<string, StoredAuditEntry>(),
  idempotencyKeys: new Map<string, StoredIdempotencyKey>(),
  budgets: new Map<string, Budget>(),
  /** By execution. */
  reservations: new Map<string, Reservation>(),
  /** By workspace and month. */
  losses: new Map<string, Spending>(),
  ...emptyWebhookTables(),
  /** Of which webhooks were told, or would have been, that they fail. */
  failingConnectors: new Map<string, true>(),
  /** By workspace, month and limit with its value. */
  toldBudgets: new Map<string, true>(),
  /** Workspaces of which a call was just refused by a limit of the month. */
  refusedBudgets: new Map<string, true>()
})

/** What is kept, each by its key. */
export type Tables = ReturnType<typeof emptyTables>

/** Whether an execution may write: it is the latest of a run that is RUNNING. */
export const isLatest = ({ leases, runs }: Tables, { epoch, id, worker }: Execution): boolean => {
  const run = runs.get(id)
  return run?.status === "RUNNING" && run.epoch === epoch && leases.get(id)?.worker === worker
}

/** Changes a run; a turn that is over frees its conversation. */
export const setRun = ({ runs, turns }: Tables, run: StoredRun): void => {
  runs.set(run.id, run)
  if (run.turn === null || !isTerminal(run.status)) return
  if (turns.get(run.turn.conversationId) === run.id) turns.delete(run.turn.conversationId)
}

/** Forgets a run with all that is kept of it. */
export const removeRun = ({ approvals, cronFires, ...tables }: Tables, id: string): void => {
  const { crashes, events, executions, inputs, leases, pruned, runs, spent, steps } = tables
  for (const own of [crashes, events, executions, inputs, leases, pruned, runs, spent, steps]) own.delete(id)
  for (const approval of approvals.values()) if (approval.runId === id) approvals.delete(approval.id)
  for (const [key, fire] of cronFires) if (fire.runId === id) cronFires.set(key, { ...fire, runId: null })
}

/** Keeps what a run told; batches that are there already stay as they are. */
export const keepEvents = ({ events }: Tables, id: string, batches: ReadonlyArray<EventBatch> = []): void => {
  const known = events.get(id) ?? []
  const added = batches.filter(([first]) => !known.some(([other]) => other.id === first.id))
  if (added.length > 0)
    events.set(
      id,
      [...known, ...added].sort(([a], [b]) => a.id - b.id)
    )
}

/** What is to be done when the transaction that is open has committed. */
const InTransaction = Context.Reference<Array<Effect.Effect<void>> | undefined>(
  "agentd/Layers/Repo/InMemory/InTransaction",
  { defaultValue: () => undefined }
)

/** Of a slot of a job in `cronFires` and `cronBackfills`. */
export const fireKey = (cronJobId: string, at: Date): string => `${cronJobId} ${at.toISOString()}`

/** No slot of the job waits to be made up any more. */
export const forgetBackfill = ({ cronBackfillLooks, cronBackfills }: Tables, id: string): void => {
  cronBackfillLooks.delete(id)
  for (const [key, { cronJobId }] of cronBackfills) if (cronJobId === id) cronBackfills.delete(key)
}

const logged = <R>(effect: Effect.Effect<void, never, R>) =>
  Effect.ignoreCause(effect, { log: "Warn", message: "what was to be done after a commit failed" })

export type Watching = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The tables that the in-memory repositories share. Values are never changed in place. */
export class Store extends Context.Service<
  Store,
  {
    readonly tables: Tables
    /**
     * Makes every method of a repository wait while somebody else's transaction is open, and keeps the entries of the
     * audit log that belong to what it changes.
     */
    readonly guard: <Repo extends object>(repo: Repo) => Repo
    /** One transaction at a time; one that does not succeed puts every table back, also a nested one. */
    readonly transact: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    readonly afterCommit: Transaction["Service"]["afterCommit"]
    readonly isOpen: Transaction["Service"]["isOpen"]
    /** Does this around each method of a repository, as triggers do. */
    readonly watch: (watching: Watching) => void
  }
>()("agentd/Layers/Repo/InMemory/Store") {
  static readonly layer = Layer.effect(
    Store,
    Effect.map(Effect.all([Semaphore.make(1), Entries.make]), ([semaphore, entriesOf]) => {
      const tables = emptyTables()
      let watching: Watching = (effect) => effect
      const all = Object.values(tables) as ReadonlyArray<Map<string, unknown>>

      const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.flatMap(InTransaction, (within) =>
          within === undefined ? semaphore.withPermit(effect) : effect
        )

      const undoable = <A, E, R>(effect: Effect.Effect<A, E, R>, later: Array<Effect.Effect<void>>) =>
        Effect.suspend(() => {
          const before = all.map((table) => Array.from(table))
          const laterBefore = later.length
          return Effect.onExit(effect, (exit) =>
            Effect.sync(() => {
              if (exit._tag === "Success") return
              later.length = laterBefore
              all.forEach((table, index) => {
                table.clear()
                for (const [key, value] of before[index] ?? []) table.set(key, value)
              })
            })
          )
        })

      const audited = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.flatMap(entriesOf, (given) => {
          if (given.entries.length === 0) return effect
          const before = all.map((table) => new Map(table))
          return Effect.tap(effect, () =>
            Effect.sync(() => keepEntries(tables, given, changedIn(all, before)))
          )
        })

      const guarded = (member: unknown): unknown =>
        typeof member === "function"
          ? (...given: ReadonlyArray<unknown>) => alone(audited(watching(member(...given))))
          : alone(member as Effect.Effect<unknown>)

      return Store.of({
        tables,
        watch: (given) => {
          watching = given
        },
        guard: <Repo extends object>(repo: Repo) =>
          Object.fromEntries(Object.entries(repo).map(([name, member]) => [name, guarded(member)])) as Repo,
        transact: (effect) =>
          Effect.flatMap(InTransaction, (within) => {
            if (within !== undefined) return undoable(effect, within)
            const later: Array<Effect.Effect<void>> = []
            const committed = alone(Effect.provideService(undoable(effect, later), InTransaction, later))
            return Effect.onExit(committed, (exit) =>
              exit._tag === "Success" ? Effect.all(later, { discard: true }) : Effect.void
            )
          }),
        afterCommit: <R>(effect: Effect.Effect<void, never, R>) =>
          Effect.contextWith((context: Context.Context<R>) => {
            const within = Context.get(context, InTransaction)
            if (within === undefined) return logged(effect)
            within.push(logged(Effect.provideContext(effect, Context.add(context, InTransaction, undefined))))
            return Effect.void
          }),
        isOpen: Effect.map(InTransaction, (within) => within !== undefined)
      })
    })
  )
}

export const layerTransaction = Layer.effect(
  Transaction,
  Effect.gen(function* () {
    const { afterCommit, isOpen, transact } = yield* Store
    const { databaseTimeoutMillis } = yield* Settings
    return Transaction.of({
      afterCommit,
      isOpen,
      atomically: (effect) =>
        Effect.timeoutOrElse(transact(effect), {
          duration: databaseTimeoutMillis,
          orElse: () => Effect.fail(new Unavailable({ error: "the transaction took too long" }))
        })
    })
  })
)

/** Memory is always there. */
export const layerHealth = Layer.succeed(DatabaseHealth, { check: Effect.void })
