import * as Schema from "effect/Schema"
import { BusyOrInactive, NotFound, RateLimited } from "./Errors.ts"

/**
 * What the faces of the service share, in which it speaks the protocols that clients already have (CONTRACT.md section 14).
 * Bodies are JSON objects as those protocols have them: what is in one is checked, and refused, by its face.
 */
export const faceBody = Schema.JsonObject.annotate({ identifier: "FaceBody" })

/** As its protocol has it: JSON or an event stream. */
export const faceAnswer = Schema.JsonObject.annotate({ identifier: "FaceAnswer" })

/** What work that is asked for through a face may be refused with. */
export const faceErrors = [BusyOrInactive, NotFound, RateLimited] as const

/** Which workspace is meant, where a token has more than one and nothing else says it. */
export const faceHeaders = { "x-workspace-id": Schema.optionalKey(Schema.String) }
