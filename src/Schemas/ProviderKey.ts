import * as Schema from "effect/Schema"
import { ProviderKeyId, WorkspaceId } from "./Ids.ts"
import { text } from "./Text.ts"

/** What an agent shows of the key that it infers with (specification, Agent). */
export const ProviderKeySummary = Schema.Struct({
  id: ProviderKeyId,
  name: Schema.String,
  provider: Schema.String,
  model: Schema.String
})
export type ProviderKeySummary = typeof ProviderKeySummary.Type

/** A stored key of an inference provider, without its secret. */
export const ProviderKey = Schema.Struct({
  id: ProviderKeyId,
  workspaceId: WorkspaceId,
  name: text(1, 100),
  provider: text(1, 50),
  model: text(1, 200),
  createdAt: Schema.Date
})
export type ProviderKey = typeof ProviderKey.Type
