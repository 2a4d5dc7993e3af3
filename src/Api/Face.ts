import * as Schema from "effect/Schema"
import { BusyOrInactive, NotFound, RateLimited } from "./Errors.ts"

/**
 * What the faces of the service share, in which it speaks the protocols that clients already have (CONTRACT.md section 14).
 * Bodies are JSON objects as those protocols have them: what is in one is checked, and refused, by its face.
 */
export const faceBody = (identifier: string) => {
  const body = Schema.JsonObject.annotate({ identifier })
  bodies.add(body.ast)
  return body
}

const bodies = new WeakSet<object>()

export const isFaceBody = ({ ast }: Schema.Top): boolean => bodies.has(ast)

/** As its protocol has it: JSON or an event stream. */
export const faceAnswer = (identifier: string) => Schema.JsonObject.annotate({ identifier })

/** What work that is asked for through a face may be refused with. */
export const faceErrors = [BusyOrInactive, NotFound, RateLimited] as const

/** Which workspace is meant, where a token has more than one and nothing else says it. */
export const faceHeaders = { "x-workspace-id": Schema.optionalKey(Schema.String) }

/** How errors are told under /v1. */
export const OpenAiError = Schema.Struct({
  error: Schema.Struct({
    message: Schema.String.annotate({ description: "A sentence that names the field at fault." }),
    type: Schema.String,
    param: Schema.NullOr(Schema.String),
    code: Schema.NullOr(Schema.String)
  })
}).annotate({ identifier: "OpenAiError" })
