import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { WorkspaceId } from "../Schemas/Ids.ts"
import { usageOf, type WorkspaceUsage } from "../Schemas/QuotaUsage.ts"
import type { User } from "../Schemas/User.ts"
import { roleOf } from "./Access.ts"
import { now } from "./CurrentTime.ts"
import { QuotaRepo } from "./QuotaRepo.ts"
import { Settings } from "./Settings.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** How much a caller may still make (CONTRACT.md section 10). */
export class Quotas extends Context.Service<
  Quotas,
  {
    /** Of a workspace, by any member; what users have is that of the caller. */
    readonly usage: (user: User, id: WorkspaceId) => Effect.Effect<WorkspaceUsage, NotFound | Unavailable>
  }
>()("agentd/Services/Quotas") {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function* () {
      const repo = yield* QuotaRepo
      const { quotas } = yield* Settings
      const workspaces = yield* WorkspaceRepo
      return Quotas.of({
        usage: Effect.fnUntraced(function* (user, id) {
          const role = yield* roleOf(workspaces, id, user.id)
          const counted = Option.isSome(role) ? yield* repo.count(id, user.id, yield* now) : Option.none()
          return Option.isSome(counted) ? usageOf(counted.value, quotas) : yield* notFound("workspace")
        })
      })
    })
  )
}
