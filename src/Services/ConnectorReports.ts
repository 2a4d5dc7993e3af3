import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { ConnectorId } from "../Schemas/Ids.ts"
import { ConnectorHealth } from "./ConnectorHealth.ts"
import { makeRequireRoom } from "./ConnectorLimit.ts"
import { ConnectorRepo } from "./ConnectorRepo.ts"
import { now } from "./CurrentTime.ts"
import { Transaction } from "./Transaction.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** Keeps in the status of a connector what is reported of it. */
export const layer = Layer.effect(
  ConnectorHealth,
  Effect.gen(function* () {
    const repo = yield* ConnectorRepo
    const requireRoom = yield* makeRequireRoom
    const transaction = yield* Transaction
    const workspaces = yield* WorkspaceRepo

    const report = Effect.fn("ConnectorHealth.report")(
      function* (id: ConnectorId, healthy: boolean) {
        const seen = yield* repo.find(id)
        if (Option.isNone(seen)) return false
        // The lock of the workspace orders changes of its connectors: what counts is read behind it.
        yield* workspaces.lock(seen.value.workspaceId)
        const found = yield* repo.find(id)
        if (Option.isNone(found) || found.value.status === "INACTIVE") return false
        const status = healthy ? "ACTIVE" : "ERROR"
        if (found.value.status === status) return healthy
        if (healthy) yield* requireRoom(found.value.workspaceId)
        yield* repo.update({ ...found.value, status, updatedAt: yield* now })
        return healthy
      },
      transaction.atomically,
      Effect.catchTag("PlanLimitExceeded", () => Effect.succeed(false)),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logWarning("the state of a connector could not be kept", cause), false)
      )
    )

    return ConnectorHealth.of({ report })
  })
)
