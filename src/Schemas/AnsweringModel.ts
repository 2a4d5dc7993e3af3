import * as Schema from "effect/Schema"
import { ProviderKeyId } from "./Ids.ts"

/**
 * Which model it is, and by which provider key of the workspace: null is the operator's environment, and what is built
 * in. It is a fact of the past: the key may be gone by now.
 */
export const AnsweringModel = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  providerKeyId: Schema.NullOr(ProviderKeyId)
})
export type AnsweringModel = typeof AnsweringModel.Type
