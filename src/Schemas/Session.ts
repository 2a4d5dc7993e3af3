import * as Schema from "effect/Schema"
import { UserId } from "./Ids.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a caller is told of a session: the token that it is kept by is in the cookie alone. */
export const Session = Schema.Struct({ userId: UserId, email: Schema.String, expiresAt: Timestamp }).annotate(
  {
    identifier: "Session"
  }
)
export type Session = typeof Session.Type

/** Whether proxies say that the browser came over https: of a list the first is about the browser. */
export const isForwardedHttps = (forwardedProto: string | undefined): boolean =>
  forwardedProto?.split(",")[0]?.trim().toLowerCase() === "https"
