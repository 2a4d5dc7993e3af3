import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import { type Forbidden, InvalidInput, type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { ProviderKeyId, WorkspaceId } from "../Schemas/Ids.ts"
import {
  type CreateProviderKey,
  type ProviderKey,
  type StoredProviderKey,
  toProviderKey,
  type UpdateProviderKey
} from "../Schemas/ProviderKey.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { audited } from "./Audited.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { ProviderKeyRepo } from "./ProviderKeyRepo.ts"
import { SecretBox } from "./SecretBox.ts"
import { Settings } from "./Settings.ts"
import { Transaction } from "./Transaction.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** What a caller does with the keys of inference providers (CONTRACT.md section 8). */
export class ProviderKeys extends Context.Service<
  ProviderKeys,
  {
    /**
     * By an owner. The key is sealed before it is stored and never returned. The first of a workspace without a
     * default becomes its default (CONTRACT.md section 8), in the same transaction.
     */
    readonly create: (
      user: User,
      input: CreateProviderKey
    ) => Effect.Effect<ProviderKey, Forbidden | InvalidInput | PlanLimitExceeded | Unavailable>
    readonly list: (
      user: User,
      workspaceId: WorkspaceId
    ) => Effect.Effect<ReadonlyArray<ProviderKey>, Forbidden | Unavailable>
    /** By an owner. What is journaled from then on has the new price, also of runs under way, from their next claim on. */
    readonly update: (
      user: User,
      id: ProviderKeyId,
      input: UpdateProviderKey
    ) => Effect.Effect<ProviderKey, Forbidden | NotFound | Unavailable>
    /** By an owner. */
    readonly remove: (
      user: User,
      id: ProviderKeyId
    ) => Effect.Effect<void, Forbidden | NotFound | Unavailable>
  }
>()("agentd/Services/ProviderKeys") {
  static readonly layer = Layer.effect(
    ProviderKeys,
    Effect.gen(function* () {
      const access = yield* Access
      const box = yield* SecretBox
      const ids = yield* Ids
      const repo = yield* ProviderKeyRepo
      const { quotas } = yield* Settings
      const transaction = yield* Transaction
      const workspaces = yield* WorkspaceRepo

      const insert = Effect.fnUntraced(function* (key: StoredProviderKey) {
        const workspace = Option.getOrUndefined(yield* workspaces.lock(key.workspaceId))
        const isFirst =
          workspace?.defaultProviderKeyId === null && (yield* repo.list(key.workspaceId)).length === 0
        yield* repo.insert(key, quotas.providerKeys).pipe(audited("provider_key.create", key))
        if (workspace !== undefined && isFirst) {
          yield* workspaces.update(
            workspace.id,
            { ...workspace, defaultProviderKeyId: key.id },
            key.createdAt
          )
        }
      })

      return ProviderKeys.of({
        create: Effect.fnUntraced(function* (user, input) {
          yield* access.owner(user, input.workspaceId)
          const id = yield* ids.make<ProviderKeyId>("providerKey")
          const sealedApiKey =
            input.apiKey == null
              ? null
              : yield* box
                  .seal(id, Redacted.make(input.apiKey))
                  .pipe(Effect.mapError(({ error }) => new InvalidInput({ error: `apiKey: ${error}` })))
          const key = {
            id,
            workspaceId: input.workspaceId,
            name: input.name,
            provider: input.provider,
            model: input.model,
            baseUrl: input.baseUrl ?? null,
            maxOutputTokens: input.maxOutputTokens ?? null,
            hasApiKey: sealedApiKey !== null,
            pricing: input.pricing ?? null,
            sealedApiKey,
            createdAt: yield* now
          }
          yield* transaction.atomically(insert(key)).pipe(Effect.catchTag("ReferenceGone", Effect.die))
          return toProviderKey(key)
        }),
        list: Effect.fnUntraced(function* (user, workspaceId) {
          yield* access.member(user, workspaceId)
          return (yield* repo.list(workspaceId)).map(toProviderKey)
        }),
        update: Effect.fnUntraced(function* (user, id, { pricing }) {
          const key = yield* access.visible(user, "provider key", yield* repo.find(id))
          yield* access.owner(user, key.workspaceId)
          if (pricing === undefined) return toProviderKey(key)
          const isThere = yield* repo.update(id, { pricing }).pipe(audited("provider_key.update", key))
          return isThere ? toProviderKey({ ...key, pricing }) : yield* notFound("provider key")
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const { workspaceId } = yield* access.visible(user, "provider key", yield* repo.find(id))
          yield* access.owner(user, workspaceId)
          if (!(yield* repo.remove(id).pipe(audited("provider_key.delete", { workspaceId, id }))))
            return yield* notFound("provider key")
        })
      })
    })
  )
}
