import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Api } from "../../src/Api/Api.ts"
import { ChatEvent } from "../../src/Schemas/ChatEvent.ts"

/** A client of the service, derived from its contract; docs/client.md shows it. */
export const makeClient = (baseUrl: string, token: string) =>
  HttpApiClient.make(Api, {
    baseUrl,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(token))
  }).pipe(Effect.provide(FetchHttpClient.layer))

const decodeEvent = Schema.decodeUnknownEffect(Schema.toCodecJson(ChatEvent))

/** The events of a chat stream, decoded; comment lines are not among them. */
export const chatEvents = <E>(body: Stream.Stream<Uint8Array, E>) =>
  body.pipe(
    Stream.decodeText(),
    Stream.pipeThroughChannel(Sse.decode()),
    Stream.mapEffect(({ data, event }) => decodeEvent({ event, data: JSON.parse(data) }))
  )
