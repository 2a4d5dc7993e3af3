import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import type { Caller } from "../Schemas/Token.ts"
import { Forbidden, InvalidInput, RateLimited, Unauthenticated, Unavailable } from "./Errors.ts"

export class CurrentUser extends Context.Service<CurrentUser, Caller>()("agentd/Api/CurrentUser") {}

/** Bearer token or `session` cookie (specification, Authentication). Comes before every other check. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentUser }>()(
  "agentd/Api/Authorization",
  {
    security: {
      // Lower case: readers of the OpenAPI document compare it so.
      bearer: HttpApiSecurity.http({ scheme: "bearer" }),
      session: HttpApiSecurity.apiKey({ in: "cookie", key: "session" })
    },
    error: [Unauthenticated, Forbidden, RateLimited, Unavailable]
  }
) {}

/** Of what takes no credential: a change comes from a page of this origin, of a named one, or from no browser. */
export class OwnPages extends HttpApiMiddleware.Service<OwnPages>()("agentd/Api/OwnPages", {
  error: [Forbidden, Unavailable]
}) {}

/** Answers what does not decode with a sentence that names the field. */
export class Validation extends HttpApiMiddleware.Service<Validation>()("agentd/Api/Validation", {
  error: InvalidInput
}) {}
