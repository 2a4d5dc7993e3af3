import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import { HttpPlatform } from "effect/http/HttpPlatform"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerError from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { errorCodeHeader } from "../../Api/Errors.ts"
import { clientOf } from "../../Schemas/Forwarded.ts"
import type { Networks } from "../../Schemas/Networks.ts"
import { securityHeaders } from "../../Schemas/SecurityHeaders.ts"
import { maskTokens } from "../../Schemas/Token.ts"
import { AuditNotes } from "../../Services/AuditNotes.ts"
import * as DatabaseWait from "../../Services/DatabaseWait.ts"
import { Ids } from "../../Services/Ids.ts"
import * as Metrics from "../../Services/Metrics.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { Settings } from "../../Services/Settings.ts"
import * as Telemetry from "../../Services/Telemetry.ts"
import * as AccessLog from "./AccessLog.ts"
import * as Admission from "./Admission.ts"
import * as Cors from "./Cors.ts"
import { inItsForm } from "./FaceProblems.ts"
import { problemResponse } from "./Problems.ts"
import { makeAllowedMethods } from "./Routes.ts"
import { isHttps, withSession } from "./SessionCookie.ts"

/**
 * The one place where everything that no endpoint answered becomes `{"error"}`: unknown paths, other
 * methods, bodies that are too large, and defects, whose cause goes to the log and nowhere else. All that a request
 * asks of the database until its answer begins shares one limit of time.
 */
export const layer = HttpRouter.middleware(
  Effect.gen(function* () {
    const ids = yield* Ids
    const refuse = yield* Admission.makeRefuse
    const withRate = yield* Admission.makeWithRate
    const { corsOrigins, trustedProxies } = yield* Settings
    const withCors = Cors.make(corsOrigins)
    const notes = yield* AuditNotes
    const allowedMethods = makeAllowedMethods()

    const notRouted = Effect.fnUntraced(function* (request: HttpServerRequest) {
      const refused = isOfApi(request.url) ? yield* refuse(request) : undefined
      if (refused !== undefined) return refused
      const allowed = allowedMethods(request.url)
      return allowed.length === 0 ? problemResponse(404) : problemResponse(405, { allow: allowed.join(", ") })
    })

    const answer = (request: HttpServerRequest, cause: Cause.Cause<unknown>) => {
      const error = Cause.squash(cause)
      if (HttpServerError.isHttpServerError(error)) {
        if (error.reason._tag === "RouteNotFound") return notRouted(request)
        if (error.reason._tag === "RequestParseError") {
          return Effect.succeed(problemResponse(error.reason.reason === "BodyTooLarge" ? 413 : 400))
        }
      }
      return Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.as(
            Effect.annotateLogs(Effect.logError("a request failed", cause), {
              method: request.method,
              path: AccessLog.pathOf(request.url)
            }),
            problemResponse(500)
          )
    }

    const platform = yield* HttpPlatform
    const compressed = HttpMiddleware.compression({ compressible: isCompressible })
    return (app) =>
      Effect.gen(function* () {
        const request = withSession(yield* HttpServerRequest)
        const requestId = acceptedId(request.headers["x-request-id"]) ?? (yield* ids.make<string>("request"))
        const startedAt = performance.now()
        const facts: RequestFacts.RequestFacts = {
          requestId,
          ...addressOf(request, trustedProxies)
        }
        return yield* Effect.matchCauseEffect(withCors(app), {
          onSuccess: (response) => Effect.succeed(withBody(response)),
          onFailure: (cause) => answer(request, cause)
        }).pipe(
          Effect.flatMap((response) =>
            isOfApi(request.url) ? withRate(response, facts) : Effect.succeed(response)
          ),
          Effect.map((response) => delivered(inItsForm(request.url, response), request, requestId)),
          Effect.onExit((exit) => {
            const millis = performance.now() - startedAt
            const status = Exit.isSuccess(exit) ? exit.value.status : goneStatus
            const code = Exit.isSuccess(exit) ? exit.value.headers[errorCodeHeader] : undefined
            return Effect.all(
              [
                told(facts),
                // What was waited for on purpose is no slowness.
                measure(request.method, status, millis - (facts.waitedMillis ?? 0)),
                code === undefined ? Effect.void : Metric.update(errorsOf(code), 1),
                AccessLog.log(request, { status, code, millis }, facts),
                notes.answered(facts)
              ],
              { discard: true }
            )
          }),
          Effect.provideService(RequestFacts.CurrentRequest, facts),
          Effect.provideService(HttpServerRequest, request),
          Effect.annotateLogs({ requestId }),
          Telemetry.answering({
            traceparent: request.headers.traceparent,
            attributes: { "agentd.request.id": requestId }
          })
        )
      }).pipe(DatabaseWait.together, compressed, Effect.provideService(HttpPlatform, platform))
  }),
  { global: true }
)

/** To its span: who has asked, and of which workspace. */
const told = ({ address, workspaceId }: RequestFacts.RequestFacts) =>
  Effect.annotateCurrentSpan({
    ...(workspaceId !== undefined && { "agentd.workspace.id": maskTokens(workspaceId) }),
    ...(address !== undefined && { "client.address": address })
  })

/** Of a request whose client went away before its answer began, as proxies write it. */
const goneStatus = 499

const measure = (method: string, status: number, millis: number) =>
  Effect.andThen(
    Metric.update(requestsOf(method, String(status)), 1),
    Metric.update(Metrics.httpSeconds, millis / 1000)
  )

/** Methods are those that the parser of HTTP knows. */
const requestsOf = Metrics.seriesOf(Metrics.httpRequests, "method", "status")

/** Codes are those of `Api/Errors.ts`. */
const errorsOf = Metrics.seriesOf(Metrics.httpErrors, "code")

/** Answers of more than 1 KiB, but for streams: what is compressed is held back until there is enough of it. */
const isCompressible = (contentType: string): boolean =>
  /^(application\/json|text\/(html|plain))\b/.test(contentType)

/** What may be of a tenant is kept by nobody on the way. */
const delivered = (
  response: HttpServerResponse.HttpServerResponse,
  request: HttpServerRequest,
  requestId: string
) =>
  HttpServerResponse.setHeaders(response, {
    ...securityHeaders(isHttps(request)),
    ...(isOfApi(request.url) && { "cache-control": "no-store" }),
    ...response.headers,
    "x-request-id": requestId
  })

/** As the router reads the address: in any case, with letters escaped. */
const isOfApi = (url: string): boolean =>
  /^\/+((a|%[46]1)(p|%[57]0)(i|%[46]9)|(v|%[57]6)(1|%31)|(m|%[46]d)(c|%[46]3)(p|%[57]0))([/?;#]|$)/iu.test(
    url
  )

/** Framework answers without a body of ours (415, 413 by length) get one. */
const withBody = (response: HttpServerResponse.HttpServerResponse) =>
  response.status >= 400 && response.headers[errorCodeHeader] === undefined
    ? problemResponse(response.status)
    : response

/** It is in the log and in the audit log: somebody's token is none. */
const acceptedId = (id: string | undefined): string | undefined =>
  id !== undefined && /^[\w.:-]{1,100}$/u.test(id) && maskTokens(id) === id ? id : undefined

const addressOf = ({ headers, remoteAddress }: HttpServerRequest, trusted: Networks) =>
  Option.isSome(remoteAddress)
    ? { address: clientOf(remoteAddress.value, headers["x-forwarded-for"], trusted) }
    : {}
