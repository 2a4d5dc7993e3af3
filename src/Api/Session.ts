import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Session as SessionSchema, SignedIn, SignInByLink } from "../Schemas/Session.ts"
import { Authorization, OwnPages, Validation } from "./Authorization.ts"
import { RateLimited, Unauthenticated } from "./Errors.ts"
import { extension } from "./Extension.ts"
import { created, data, removed } from "./Fields.ts"
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
    HttpApiEndpoint.get("get", "/api/session", { success: data(SignedIn) }).annotateMerge(
      OpenApi.annotations({
        summary: "Say whose token or session the request has",
        description: "`tokenId` is its id in `GET /api/tokens`, `expiresAt` when it ends, null if never."
      })
    ),
    HttpApiEndpoint.delete("end", "/api/session", { success: removed }).annotateMerge(
      OpenApi.annotations({
        summary: "End the session of the cookie",
        description: "The cookie is cleared, and its session revoked, with what that made."
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .add(
    HttpApiEndpoint.post("startByLink", "/api/session/link", {
      payload: SignInByLink,
      success: created(SessionSchema),
      error: [Unauthenticated, RateLimited]
    })
      .middleware(Validation)
      .middleware(OwnPages)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Exchange the code of a sign-in link for the session cookie",
          description:
            "Once, within an hour: `agentd sign-in-link` and the first start print such links. Takes no credential. A " +
            "code that was used, is over or unknown is a 401. It takes no Idempotency-Key, which is kept by user: where " +
            "the answer is lost, ask for another link."
        })
      )
  )
  .annotateEndpointsMerge(OpenApi.annotations(extension))
  .annotateMerge(
    OpenApi.annotations({ title: "Session", description: "The token of a browser, in a cookie." })
  )
