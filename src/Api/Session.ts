import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Session as SessionSchema } from "../Schemas/Session.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { created, removed } from "./Fields.ts"
import { Idempotency, Keeping } from "./Idempotency.ts"

export const Session = HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.post("start", "/api/session", { success: created(SessionSchema) })
      .middleware(Idempotency)
      .annotate(Keeping, "sealed")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Exchange a bearer token for the session cookie",
          description:
            "HttpOnly, SameSite=Lax, Secure over https; good for 30 days, or as long as the token or session of the " +
            "request, with which it is revoked."
        })
      ),
    HttpApiEndpoint.delete("end", "/api/session", { success: removed }).annotateMerge(
      OpenApi.annotations({
        summary: "End the session of the cookie",
        description: "The cookie is cleared, and its session revoked, with what that made."
      })
    )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({ title: "Session", description: "The token of a browser, in a cookie." })
  )
