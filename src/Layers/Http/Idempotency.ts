import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import { RouteContext } from "effect/http/HttpRouter"
import { HttpServerRequest, ParsedSearchParams } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import { CurrentUser } from "../../Api/Authorization.ts"
import {
  Idempotency as IdempotencyMiddleware,
  idempotencyKeyHeader,
  idempotencyReplayedHeader,
  Keeping,
  KnowsRetries,
  retryCountHeader
} from "../../Api/Idempotency.ts"
import { InvalidInput } from "../../Schemas/Errors.ts"
import { type KeptAnswer, keyOfHeader, keySentence, requestText } from "../../Schemas/Idempotency.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import type { Caller } from "../../Schemas/Token.ts"
import { Idempotency, type Performed } from "../../Services/Idempotency.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { Retries } from "../../Services/Retries.ts"
import { Runs } from "../../Services/Runs.ts"
import { problemResponse } from "./Problems.ts"
import * as TurnAnswers from "./TurnAnswers.ts"
import { IsKept, type TurnRequest } from "./TurnFace.ts"

/** A response that says no: what was done for it is undone. */
class Refused extends Data.TaggedError("Refused")<{
  readonly response: HttpServerResponse.HttpServerResponse
}> {}

/**
 * Does a POST with an `Idempotency-Key` once. The handler is executed in the transaction of its key, and its answer is
 * made anew from what is kept of it, the first time as every other: a stream that the handler gives would be read in a
 * transaction that is over.
 */
export const layer = Layer.effect(
  IdempotencyMiddleware,
  Effect.gen(function* () {
    const { once } = yield* Idempotency
    const stream = yield* makeStream

    const retried = yield* makeRetried(stream)

    return Effect.fnUntraced(function* (httpEffect, { endpoint, group }) {
      const request = yield* HttpServerRequest
      const header = request.headers[idempotencyKeyHeader]
      if (header === undefined) {
        const count = Context.get(endpoint.annotations, KnowsRetries)
          ? countOf(request.headers[retryCountHeader])
          : undefined
        return yield* count === undefined ? httpEffect : retried(httpEffect, endpoint, group, count)
      }
      const key = keyOfHeader(header)
      if (key === undefined) return yield* new InvalidInput({ error: keySentence })
      const caller = yield* CurrentUser
      const body = yield* bodyOf(request)
      const { params } = yield* RouteContext
      const workspaceHeader = request.headers["x-workspace-id"]
      const query = { ...(yield* ParsedSearchParams) } as Schema.Json
      const keyed = {
        caller,
        method: request.method,
        path: pathOf(endpoint, params),
        key,
        // The same text as ever of what names no workspace so.
        request: requestText(workspaceHeader === undefined ? query : [query, workspaceHeader], body),
        keeping: Context.get(endpoint.annotations, Keeping)
      }
      const facts = (yield* RequestFacts.CurrentRequest) ?? {}
      const perform = Effect.scoped(Effect.provideService(httpEffect, IsKept, true)).pipe(
        Effect.flatMap((response) => performedOf(response, facts))
      )
      const outcome = yield* once(keyed, perform).pipe(
        Effect.provideService(RequestFacts.CurrentRequest, facts),
        Effect.catchIf(
          (error) => error instanceof Refused,
          ({ response }) => Effect.succeed(response)
        )
      )
      if (HttpServerResponse.isHttpServerResponse(outcome)) return outcome
      const { isReplayed, performed } = outcome
      const response =
        "turnId" in performed
          ? yield* stream(nameOf(group, endpoint), caller, performed.turnId, {
              params,
              payload: body as Schema.JsonObject,
              workspaceHeader
            })
          : responseOf(performed.answer)
      return isReplayed ? replayed(response) : response
    })
  })
)

/** Answers what a client says that it has sent before, out of the turn that it began then. */
const makeRetried = Effect.fnUntraced(function* (stream: Effect.Success<typeof makeStream>) {
  const { turnOf } = yield* Retries
  return Effect.fnUntraced(function* <E, R>(
    httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
    endpoint: HttpApiEndpoint.Top,
    group: { readonly identifier: string },
    count: number
  ) {
    const request = yield* HttpServerRequest
    const caller = yield* CurrentUser
    const body = yield* bodyOf(request)
    const { params } = yield* RouteContext
    const workspaceHeader = request.headers["x-workspace-id"]
    const sent = {
      caller,
      path: pathOf(endpoint, params),
      request: requestText(workspaceHeader ?? null, body)
    }
    const payload = body as Schema.JsonObject
    const asked = { params, payload, workspaceHeader }
    const again = (turnId: RunId) =>
      Effect.map(stream(nameOf(group, endpoint), caller, turnId, asked), replayed)
    const { isBegun, turnId } = yield* turnOf({ ...sent, count })
    if (isBegun) return yield* again(turnId)
    yield* RequestFacts.tell({ turnToBegin: turnId })
    return yield* Effect.catchDefect(
      httpEffect,
      Effect.fnUntraced(function* (defect) {
        // Another of the same has begun it at the same time.
        const known = yield* turnOf({ ...sent, count: count + 1 })
        return known.isBegun ? yield* again(known.turnId) : yield* Effect.die(defect)
      })
    )
  })
})

const nameOf = (group: { readonly identifier: string }, endpoint: HttpApiEndpoint.Top): string =>
  `${group.identifier}.${endpoint.identifier}`

const replayed = (response: HttpServerResponse.HttpServerResponse) =>
  response.status < 300 ? HttpServerResponse.setHeader(response, idempotencyReplayedHeader, "true") : response

/** What a turn tells from its first event, as the endpoint that began it tells it. */
const makeStream = Effect.gen(function* () {
  const runs = yield* Runs
  const answer = yield* TurnAnswers.make
  return (endpoint: string, caller: Caller, turnId: RunId, request: TurnRequest) =>
    runs.events(caller, turnId, 0).pipe(
      Effect.flatMap((events) =>
        answer(endpoint, { caller, turnId, events: Option.getOrThrow(events) }, request)
      ),
      Effect.catchTag("NotFound", () =>
        Effect.succeed(problemResponse(404, {}, "the answer to this message is not there any more"))
      )
    )
})

/** How often the client says that it has sent the request before; none that is no count. */
const countOf = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,3}$/.test(header) ? Number(header) : undefined

/** The path as the router reads it, however it was written. */
const pathOf = (
  { path }: HttpApiEndpoint.Top,
  params: Readonly<Record<string, string | undefined>>
): string => path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))

/** What is no JSON is refused by who decodes it. */
const bodyOf = (request: HttpServerRequest): Effect.Effect<Schema.Json> =>
  Effect.map(Effect.orDie(request.text), (text) => {
    try {
      return text === "" ? null : JSON.parse(text)
    } catch {
      return text
    }
  })

const performedOf = (
  response: HttpServerResponse.HttpServerResponse,
  { turnId }: RequestFacts.RequestFacts
): Effect.Effect<Performed, Refused> => {
  const { body, cookies, headers, status } = response
  if (status < 200 || status > 299) return new Refused({ response })
  if (body._tag === "Stream" && turnId !== undefined) return Effect.succeed({ turnId })
  if (body._tag !== "Uint8Array") return Effect.die(new Error(`an answer of ${body._tag} can't be kept`))
  const { "content-length": _, ...kept } = headers
  return Effect.succeed({
    answer: {
      status,
      headers: kept,
      cookies: Cookies.toSetCookieHeaders(cookies),
      contentType: body.contentType,
      body: new TextDecoder().decode(body.body)
    }
  })
}

const responseOf = ({ body, contentType, cookies, headers, status }: KeptAnswer) =>
  HttpServerResponse.mergeCookies(
    HttpServerResponse.uint8Array(new TextEncoder().encode(body), { status, headers, contentType }),
    Cookies.fromSetCookie(cookies)
  )
