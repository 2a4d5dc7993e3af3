import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ProviderKeyId } from "../Schemas/Ids.ts"
import type { ProviderKey } from "../Schemas/ProviderKey.ts"

/** The keys of inference providers that workspaces hold. */
export class ProviderKeyRepo extends Context.Service<
  ProviderKeyRepo,
  {
    readonly insert: (key: ProviderKey) => Effect.Effect<void, Unavailable>
    readonly find: (id: ProviderKeyId) => Effect.Effect<Option.Option<ProviderKey>, Unavailable>
  }
>()("agentd/Services/ProviderKeyRepo") {}
