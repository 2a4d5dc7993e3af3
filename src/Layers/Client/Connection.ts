import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Api } from "../../Api/Api.ts"
import { Credentials } from "../../Schemas/Account.ts"
import type { WorkspaceId } from "../../Schemas/Ids.ts"
import { textOf } from "../../Schemas/Table.ts"

/** Why a command ends that speaks to a running service: one sentence. */
export class ClientError extends Schema.TaggedError<ClientError>()("ClientError", { error: Schema.String }) {}

const fail = (error: string) => Effect.fail(new ClientError({ error }))

const decodeCredentials = Schema.decodeUnknownOption(Schema.fromJsonString(Credentials))

type Environment = Readonly<Record<string, string | undefined>>

const given = (environment: Environment, name: string) => environment[name]?.trim() || undefined

/** What the first start on an embedded database has kept. */
const credentialsIn = (environment: Environment) => {
  const folder = given(environment, "AGENTD_DATA_DIR") ?? "./.agentd"
  try {
    return Option.getOrUndefined(decodeCredentials(readFileSync(join(folder, "credentials.json"), "utf8")))
  } catch {
    return undefined
  }
}

const addressOf = (text: string) => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/u.test(url.protocol) && url.username === "" && url.password === ""
    ? Effect.succeed(url.href.replace(/\/+$/u, ""))
    : fail("the address of the service must be an http:// or https:// address without a user or password")
}

/** Follows no redirect: what is sent is for the address that was named, and for no other. */
export const overHttp = Effect.provide(
  Layer.provide(FetchHttpClient.layer, Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" }))
)

const makeClient = (baseUrl: string, token: string) =>
  HttpApiClient.make(Api, {
    baseUrl,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(token))
  }).pipe(overHttp)

export type Client = Effect.Success<ReturnType<typeof makeClient>>

/** A running service, and whose token speaks to it. */
export interface Connection {
  readonly baseUrl: string
  readonly token: string
  readonly client: Client
  /** The workspace that was named, or the only one of the token. */
  readonly workspace: Effect.Effect<WorkspaceId, ClientError>
}

/**
 * Where the service is and with which token: `--url` or AGENTD_URL, and AGENTD_TOKEN, else what the first start has kept
 * in AGENTD_DATA_DIR. Its token goes to its own address alone.
 */
export const connect = Effect.fn("Client.connect")(function* (
  options: { readonly url: Option.Option<string>; readonly workspace?: Option.Option<string> },
  environment: Environment = process.env
) {
  const kept = credentialsIn(environment)
  const address = Option.getOrElse(options.url, () => given(environment, "AGENTD_URL")) ?? kept?.baseUrl
  if (address === undefined) {
    return yield* fail(
      "where is the service? Set AGENTD_URL and AGENTD_TOKEN, or AGENTD_DATA_DIR to its data folder"
    )
  }
  const baseUrl = yield* addressOf(address)
  const isKept = kept !== undefined && (yield* addressOf(kept.baseUrl)) === baseUrl
  const own = given(environment, "AGENTD_TOKEN")
  const token = own ?? (isKept ? kept.token : undefined)
  if (token === undefined) return yield* fail(`set AGENTD_TOKEN to a token of ${baseUrl}`)
  if (!/^[\x21-\x7e]+$/u.test(token)) return yield* fail("AGENTD_TOKEN is no token")
  const client = yield* makeClient(baseUrl, token)

  const only = Effect.gen(function* () {
    const { data } = yield* said(baseUrl, client.workspaces.list())
    const [first, ...others] = data
    if (first === undefined) return yield* fail("the token is of no workspace")
    return others.length === 0
      ? first.id
      : yield* fail(`the token is of ${data.length} workspaces: name one with --workspace`)
  })
  const named = Option.getOrUndefined(options.workspace ?? Option.none())
  const known = named ?? (own === undefined && isKept ? kept.workspaceId : undefined)
  const workspace = known === undefined ? only : Effect.succeed(known as WorkspaceId)
  return { baseUrl, token, client, workspace } satisfies Connection
})

/** Whether the request may have reached nobody, or was turned away for now: worth another try. */
export const isPassing = (error: unknown): boolean =>
  Predicate.isTagged(error, "Unavailable") ||
  Predicate.isTagged(error, "RateLimited") ||
  Predicate.isTagged(error, "HttpClientError")

const sentenceOf = (baseUrl: string, error: unknown): string => {
  if (Predicate.isTagged(error, "ClientError") && "error" in error) return String(error.error)
  if (Predicate.isTagged(error, "Unauthenticated"))
    return `${baseUrl} does not accept the token: set AGENTD_TOKEN`
  if (Predicate.isTagged(error, "HttpClientError")) {
    return Predicate.hasProperty(error, "reason") && Predicate.isTagged(error.reason, "TransportError")
      ? `no service answers at ${baseUrl}: is it running there?`
      : `what answers at ${baseUrl} is no agentd of this version`
  }
  return Predicate.hasProperty(error, "error") && typeof error.error === "string"
    ? error.error
    : `what answers at ${baseUrl} is no agentd of this version`
}

/** What fails is told in one sentence, without a token, and nothing of it is an order to a terminal. */
export const said = <A, E, R>(
  baseUrl: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ClientError, R> =>
  Effect.catch(effect, (error) => fail(textOf(sentenceOf(baseUrl, error))))
