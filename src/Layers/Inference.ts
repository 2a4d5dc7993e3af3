import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { InferenceError } from "../Schemas/Inference.ts"
import { answeringModel, chooseModel, listRefusal } from "../Schemas/ModelChoice.ts"
import { pricingOf } from "../Schemas/ModelPrice.ts"
import type { Pricing } from "../Schemas/Pricing.ts"
import { isApiKey, type StoredProviderKey } from "../Schemas/ProviderKey.ts"
import { AuditNotes } from "../Services/AuditNotes.ts"
import { Ids } from "../Services/Ids.ts"
import { Inference } from "../Services/Inference.ts"
import { Outbound } from "../Services/Outbound.ts"
import { ProviderKeyRepo } from "../Services/ProviderKeyRepo.ts"
import { SecretBox } from "../Services/SecretBox.ts"
import { Settings } from "../Services/Settings.ts"
import { environment } from "./Inference/Environment.ts"
import { measured } from "./Inference/Measured.ts"
import * as ModelStream from "./Inference/ModelStream.ts"
import * as Offline from "./Inference/Offline.ts"
import { type Connection, outputLimitOf } from "./Inference/Provider.ts"

/** The models of this process: those of the workspaces' keys, the operator's, and the offline one. */
export const layer = Layer.effect(
  Inference,
  Effect.gen(function* () {
    const { access, models } = yield* environment
    const box = yield* SecretBox
    const keys = yield* ProviderKeyRepo
    const notes = yield* AuditNotes
    const outbound = yield* Outbound
    const { modelIdleMillis } = yield* Settings
    const offline = Offline.make(yield* Ids).stream

    const online = (connection: Connection, pricing: Pricing | null) =>
      measured(connection.provider, pricing, ModelStream.make(connection, modelIdleMillis))

    const apiKeyOf = Effect.fnUntraced(function* (key: StoredProviderKey) {
      if (key.sealedApiKey !== null) {
        const opened = yield* box
          .open(key.id, key.sealedApiKey)
          .pipe(Effect.mapError(({ error }) => new InferenceError({ reason: "authentication", error })))
        yield* notes.opened(key)
        if (isApiKey(Redacted.value(opened))) return opened
        return yield* new InferenceError({
          reason: "authentication",
          error: `the provider key ${key.name} has characters that can't be sent: make it anew`
        })
      }
      if (key.baseUrl !== null) return null
      return yield* new InferenceError({
        reason: "authentication",
        error: `the provider key ${key.name} holds no API key`
      })
    })

    return Inference.of({
      refusal: Effect.fnUntraced(function* (choice) {
        if (models.listed === null || (choice.model === null && choice.provider === null)) return undefined
        return listRefusal(choice, yield* keys.usable(choice.workspaceId), models)
      }),
      model: Effect.fnUntraced(function* (choice) {
        const { hasBudget, keys: stored } = yield* keys.forModels(choice.workspaceId)
        const chosen = chooseModel(choice, stored, models)
        if (typeof chosen === "string") {
          return yield* new InferenceError({ reason: "bad_request", error: chosen })
        }
        const answeredBy = answeringModel(chosen)
        const pricing = pricingOf(chosen, stored)
        const provider =
          chosen.source === "key"
            ? chosen.key.provider
            : chosen.source === "environment"
              ? chosen.provider
              : "offline"
        if (provider === "offline") {
          return { stream: measured(provider, pricing, offline), answeredBy, pricing, hasBudget }
        }
        if (provider === "google" && !isGoogleModel(chosen.model)) {
          return yield* new InferenceError({
            reason: "bad_request",
            error: "the model must be a name, or models/ or tunedModels/ before one"
          })
        }
        const connection: Connection =
          chosen.source === "key"
            ? {
                provider,
                model: chosen.model,
                baseUrl: chosen.key.baseUrl,
                apiKey: yield* apiKeyOf(chosen.key),
                maxOutputTokens: chosen.key.maxOutputTokens,
                fetch: outbound.guarded
              }
            : {
                provider,
                model: chosen.model,
                ...(access.get(provider) ?? { apiKey: null, baseUrl: null, maxOutputTokens: null }),
                fetch: outbound.trusted
              }
        const maxOutputTokens = outputLimitOf(connection)
        return { stream: online(connection, pricing), answeredBy, maxOutputTokens, pricing, hasBudget }
      })
    })
  })
)

/** The package of Google puts the model into the path as it is: nothing else of it may be a path. */
const isGoogleModel = (model: string): boolean => /^(models\/|tunedModels\/)?[\w.-]+$/u.test(model)
