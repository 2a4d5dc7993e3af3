import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ConnectorStatus, StoredConnector } from "../Schemas/Connector.ts"
import { healthOf, type Shown } from "../Schemas/ConnectorHealth.ts"
import { noRoom } from "../Schemas/ToolAbsence.ts"
import { ConnectorHealth } from "./ConnectorHealth.ts"
import { makeRequireRoom } from "./ConnectorLimit.ts"
import { ConnectorRepo } from "./ConnectorRepo.ts"
import { monotonicMillis, now } from "./CurrentTime.ts"
import { Transaction } from "./Transaction.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

const pauseMillis = 30_000
const maximumRemembered = 10_000

/** Keeps what is reported of a connector, and in its status whether it works. */
export const layer = Layer.effect(
  ConnectorHealth,
  Effect.gen(function* () {
    const repo = yield* ConnectorRepo
    const settle = yield* makeSettle
    const transaction = yield* Transaction
    const workspaces = yield* WorkspaceRepo
    const news = makeNews()

    const keep = Effect.fnUntraced(function* (connector: StoredConnector, shown: Shown, isDue: boolean) {
      const isHealthy = shown.error === null
      // The lock of the workspace orders changes of its connectors: what counts is read behind it.
      yield* workspaces.lock(connector.workspaceId)
      const found = Option.getOrUndefined(yield* repo.find(connector.id))
      if (found === undefined || !isSameServer(found, connector))
        return isHealthy && found?.status === "ACTIVE"
      const status = yield* settle(found, isHealthy)
      if (isDue || status !== found.status) {
        const told: Shown = isHealthy && status === "ERROR" ? { error: planLimit } : shown
        yield* repo.keepHealth(connector.id, healthOf(told, yield* now))
      }
      return status === "ACTIVE"
    }, transaction.atomically)

    const report = Effect.fnUntraced(
      function* (connector: StoredConnector, shown: Shown, { isAsked } = { isAsked: false }) {
        const { id, status, updatedAt } = connector
        const what = JSON.stringify([updatedAt, shown])
        const isDue = news.isNew(id, what, yield* monotonicMillis) || isAsked
        const isSettled = status === "INACTIVE" || status === (shown.error === null ? "ACTIVE" : "ERROR")
        if (isSettled && !isDue) return status === "ACTIVE"
        return yield* Effect.onError(keep(connector, shown, isDue), () =>
          Effect.sync(() => news.takeBack(id, what))
        )
      },
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logWarning("the state of a connector could not be kept", cause), false)
      )
    )

    return ConnectorHealth.of({ report })
  })
)

const planLimit = { code: "plan_limit", message: noRoom.why } as const

/** Whether the connector leads where it led: `metadata` and credential are replaced together. */
const isSameServer = (one: StoredConnector, other: StoredConnector): boolean =>
  one.sealedCredential === other.sealedCredential &&
  JSON.stringify(one.metadata) === JSON.stringify(other.metadata)

/** The status that a connector has then, which was read behind the lock of its workspace. */
const makeSettle = Effect.gen(function* () {
  const repo = yield* ConnectorRepo
  const requireRoom = yield* makeRequireRoom

  return Effect.fnUntraced(function* (found: StoredConnector, isHealthy: boolean) {
    const wanted: ConnectorStatus = isHealthy ? "ACTIVE" : "ERROR"
    if (found.status === "INACTIVE" || found.status === wanted) return found.status
    const hasRoom =
      !isHealthy ||
      (yield* requireRoom(found.workspaceId).pipe(
        Effect.as(true),
        Effect.catchTag("PlanLimitExceeded", () => Effect.succeed(false))
      ))
    if (!hasRoom) return found.status
    yield* repo.update({ ...found, status: wanted, updatedAt: yield* now })
    return wanted
  })
})

/**
 * Whether something else is told of a connector than within the last 30 s. It counts as told from then on, so that
 * one of many writes it, until that is taken back.
 */
const makeNews = () => {
  const told = new Map<string, { readonly what: string; readonly at: number }>()
  return {
    isNew: (id: string, what: string, at: number): boolean => {
      const last = told.get(id)
      if (last?.what === what && at - last.at < pauseMillis) return false
      told.delete(id)
      told.set(id, { what, at })
      for (const oldest of told.keys()) {
        if (told.size <= maximumRemembered) break
        told.delete(oldest)
      }
      return true
    },
    /** It was not written: the next who tells it does. */
    takeBack: (id: string, what: string): void => {
      if (told.get(id)?.what === what) told.delete(id)
    }
  }
}
