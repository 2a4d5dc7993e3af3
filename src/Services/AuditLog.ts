import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import { type AuditAction, type AuditEntry, newAuditEntry, type StoredAuditEntry } from "../Schemas/Audit.ts"
import type { Forbidden, Unavailable } from "../Schemas/Errors.ts"
import type { AuditEntryId, UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { CurrentActor } from "./Audited.ts"
import { AuditNotes, type SecretOwner } from "./AuditNotes.ts"
import { AuditRepo } from "./AuditRepo.ts"
import { monotonicMillis, now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import * as Metrics from "./Metrics.ts"
import { CurrentRequest, type RequestFacts } from "./RequestFacts.ts"

/** What owners see of what was done (CONTRACT.md section 12). */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** By an owner. Newest first, and whether there is more behind. */
    readonly list: (
      user: User,
      filter: {
        readonly workspaceId: WorkspaceId
        readonly after?: AuditEntryId | undefined
        readonly limit: number
      }
    ) => Effect.Effect<
      { readonly entries: ReadonlyArray<AuditEntry>; readonly next: AuditEntryId | null },
      Forbidden | Unavailable
    >
  }
>()("agentd/Services/AuditLog") {
  static readonly layer = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const access = yield* Access
      const repo = yield* AuditRepo
      return AuditLog.of({
        list: Effect.fnUntraced(function* (user, { after = null, limit, workspaceId }) {
          yield* access.owner(user, workspaceId)
          const found = yield* repo.list({ workspaceId, after, limit: limit + 1 })
          const entries = found.slice(0, limit)
          return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null }
        })
      })
    })
  )
}

const mostWaiting = 10_000
const mostAtOnce = 500
const quietMillis = 60_000
const mostRemembered = 10_000
const retryMillis = 1_000
const mostRetries = 60
const partingMillis = 2_000

/** Writes what it is told, in its order, as long as it runs; in the end what is left, for 2 s at most. */
const makeWriter = Effect.gen(function* () {
  const repo = yield* AuditRepo
  const waiting = yield* Queue.dropping<StoredAuditEntry>(mostWaiting)

  const lost = (count: number) => Metric.update(Metrics.auditLost, count)
  const write = (entries: ReadonlyArray<StoredAuditEntry>) =>
    repo.add(entries).pipe(
      Effect.retry({ times: mostRetries, schedule: Schedule.spaced(retryMillis) }),
      Effect.tapCause(() => lost(entries.length)),
      Effect.ignoreCause({ log: "Warn", message: "entries of the audit log were not written" })
    )

  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.takeBetween(waiting, 1, mostAtOnce), write)))
  yield* Effect.addFinalizer(() =>
    Queue.clear(waiting).pipe(
      Effect.flatMap((left) => (left.length === 0 ? Effect.void : repo.add(left))),
      Effect.timeoutOption(partingMillis),
      Effect.ignoreCause({ log: "Warn", message: "the last entries of the audit log were not written" })
    )
  )
  return (entry: StoredAuditEntry) =>
    Effect.flatMap(Queue.offer(waiting, entry), (isTaken) => (isTaken ? Effect.void : lost(1)))
})

/** Whether to tell of a refusal: of each user and workspace once a minute, and of 10,000 of them at most. */
const makeIsNew = () => {
  const told = new Map<string, number>()
  return (userId: UserId, workspaceId: WorkspaceId, at: number): boolean => {
    const key = `${userId} ${workspaceId}`
    if (at - (told.get(key) ?? Number.NEGATIVE_INFINITY) < quietMillis) return false
    told.delete(key)
    // In the order in which they were told: what comes first is oldest.
    for (const [oldest, since] of told) {
      if (at - since < quietMillis) break
      told.delete(oldest)
    }
    if (told.size >= mostRemembered) return false
    told.set(key, at)
    return true
  }
}

/** Takes notes for the log, behind those who tell it. */
export const layerNotes = Layer.effect(
  AuditNotes,
  Effect.gen(function* () {
    const ids = yield* Ids
    const write = yield* makeWriter
    const isNew = makeIsNew()

    const note = Effect.fnUntraced(function* (
      action: AuditAction,
      target: SecretOwner,
      asked?: RequestFacts
    ) {
      const acting = (yield* CurrentActor)?.actor ?? null
      const given = { id: yield* ids.make<AuditEntryId>("auditEntry"), at: yield* now, acting, asked }
      const { id: targetId, workspaceId } = target
      const change = { action, scope: { workspaceId }, targetId, actor: null }
      yield* write({ ...newAuditEntry(change, given), workspaceId })
    })

    return AuditNotes.of({
      opened: Effect.fnUntraced(function* (secret) {
        const acting = yield* CurrentActor
        if (acting === undefined || acting.opened.has(secret.id)) return
        acting.opened.add(secret.id)
        yield* note("secret.use", secret)
      }),
      looked: Effect.fnUntraced(function* (secret) {
        yield* note("secret.use", secret, yield* CurrentRequest)
      }),
      answered: Effect.fnUntraced(function* (facts) {
        const { isRightRefused, userId, workspaceId } = facts
        if (isRightRefused !== true || userId === undefined || workspaceId === undefined) return
        yield* Metric.update(Metrics.rightsRefused, 1)
        if (!isNew(userId, workspaceId, yield* monotonicMillis)) return
        yield* note("right.refuse", { id: workspaceId, workspaceId }, facts)
      })
    })
  })
)
